import type { Randomness } from "./randomness.ts";

const text = (name: string): object => ({ name, type: "STRING" });

export const orderFields = [
  { name: "order_id", type: "STRING", mode: "REQUIRED" },
  text("status"),
  text("channel"),
  {
    name: "customer",
    type: "STRUCT",
    fields: [
      text("id"),
      text("name"),
      text("email"),
      { name: "loyalty_points", type: "INT64" },
      { name: "address", type: "STRUCT", fields: [text("street"), text("city"), text("zip"), text("country")] },
    ],
  },
  {
    name: "items",
    type: "STRUCT",
    mode: "REPEATED",
    fields: [
      text("sku"),
      text("title"),
      { name: "qty", type: "INT64" },
      { name: "price", type: "NUMERIC" },
      { name: "discount", type: "NUMERIC" },
      { name: "tags", type: "STRING", mode: "REPEATED" },
    ],
  },
  { name: "total", type: "NUMERIC" },
  { name: "tax", type: "NUMERIC" },
  text("currency"),
  { name: "created_at", type: "TIMESTAMP" },
  { name: "local_time", type: "DATETIME" },
  { name: "is_gift", type: "BOOL" },
  { name: "metadata", type: "JSON" },
];

const firstNames = ["Anna", "José", "Zoë", "李明", "Oleg", "Fatima", "Søren", "John", "Mary", "Raúl", "Yuki", "Priya"];
const lastNames = ["Müller", "Smith", "García", "Nowak", "O'Brien", "Tanaka", "Sørensen", "Ivanov", "Dubois", "Rossi"];

/** One order of a shop: amounts are text, as careful publishers send them. */
export function randomOrder(random: Randomness): object {
  return {
    order_id: [8, 4, 4, 12].map((length) => random.hex(length)).join("-"),
    status: random.pick(["NEW", "PAID", "SHIPPED"]),
    channel: random.pick(["web", "app", "store"]),
    customer: randomCustomer(random),
    items: Array.from({ length: random.integer(2, 4) }, () => randomItem(random)),
    total: amount(random, 5000, 2),
    tax: amount(random, 500, 4),
    currency: random.pick(["EUR", "USD", "GBP"]),
    created_at: random.timestamp(),
    local_time: `${random.date()}T${random.time()}.${String(random.integer(0, 999)).padStart(3, "0")}`,
    is_gift: random.chance(0.1),
    metadata: {
      source: random.word(),
      campaign: { id: random.integer(1, 99_999), name: random.words(2) },
      flags: [random.integer(0, 9), random.integer(0, 9)],
      ref: random.hex(16),
    },
  };
}

function randomCustomer(random: Randomness): object {
  return {
    id: `c${random.integer(1_000_000, 9_000_000)}`,
    name: `${random.pick(firstNames)} ${random.pick(lastNames)}`,
    email: `${random.word()}.${random.hex(6)}@example.com`,
    loyalty_points: random.integer(0, 90_000),
    address: {
      street: `${random.integer(1, 999)} ${random.word()} street`,
      city: random.pick(["Zürich", "Paris", "New York", "São Paulo", "London", "Berlin"]),
      zip: String(random.integer(10_000, 99_999)),
      country: random.pick(["CH", "FR", "US", "BR", "GB", "DE"]),
    },
  };
}

function randomItem(random: Randomness): object {
  return {
    sku: `SKU-${random.hex(8)}`,
    title: random.words(random.integer(3, 5)),
    qty: random.integer(1, 9),
    price: amount(random, 900, 2),
    discount: amount(random, 20, 2),
    tags: Array.from({ length: random.integer(1, 2) }, () => random.word()),
  };
}

function amount(random: Randomness, max: number, digits: number): string {
  return (random.fraction() * max).toFixed(digits);
}
