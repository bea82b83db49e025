import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    exclude: ["test/fault/acceptance/**", "test/fault/**/*.long.test.ts"],
    testTimeout: 90_000,
    hookTimeout: 30_000,
    env: { METADATA_SERVER_DETECTION: "none" },
  },
});
