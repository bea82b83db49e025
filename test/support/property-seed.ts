/** One seed for the property tests of a run: PROPERTY_SEED replays it. It stands in the name of each test. */
export const propertySeed = Number(process.env["PROPERTY_SEED"] ?? Date.now() % 2 ** 31);
