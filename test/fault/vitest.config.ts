import { defineConfig } from "vitest/config";

/** The fault suite in full; `npm test` runs the part of it that takes seconds. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/fault/**/*.test.ts"],
    // Most of it waits: for processes to start, for outages to end.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 30_000,
    env: { METADATA_SERVER_DETECTION: "none" },
  },
});
