import type { Randomness } from "./randomness.ts";

export const readingFields = [
  { name: "device_id", type: "STRING", mode: "REQUIRED" },
  { name: "event_ts", type: "TIMESTAMP", mode: "REQUIRED" },
  { name: "temperature", type: "FLOAT64" },
  { name: "humidity", type: "FLOAT64" },
  { name: "pressure", type: "FLOAT64" },
  { name: "seq", type: "INT64" },
  { name: "ok", type: "BOOL" },
  { name: "day", type: "DATE" },
];

/** One reading of a sensor. */
export function randomReading(random: Randomness): object {
  return {
    device_id: `dev-${random.hex(12)}`,
    event_ts: random.timestamp(),
    temperature: random.integer(-1000, 4000) / 100,
    humidity: random.decimal(100, 2),
    pressure: 900 + random.integer(0, 1_000_000) / 10_000,
    seq: random.integer(1, 2_000_000_000),
    ok: random.chance(0.95),
    day: random.date(),
  };
}
