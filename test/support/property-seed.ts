/**
 * Seeds of the tests that are driven by chance: the variables replay a run. A seed stands in the name of each such test.
 */
export const propertySeed = seedOf("PROPERTY_SEED");
/** Of hostile payloads. */
export const fuzzSeed = seedOf("FUZZ_SEED");
/** Of scripts of faults. */
export const faultSeed = seedOf("FAULT_SEED");

function seedOf(variable: string): number {
  return Number(process.env[variable] ?? Date.now() % 2 ** 31);
}
