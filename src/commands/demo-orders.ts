/** The messages of the demonstration: orders of a small shop, a few of them spoilt, always the same ones. */

/** One way of being bad, and the code with which such a message is refused. */
export interface Spoiling {
  readonly code: string;
  readonly payload: (order: Order) => Buffer;
}

interface Order {
  readonly order_id: string;
  readonly customer: { readonly id: number; readonly name: string };
  readonly items: readonly { readonly sku: string; readonly qty: number; readonly price: string }[];
  /** Decimal text: money is exact. */
  readonly total: string;
  readonly created_at: string;
  readonly delivery_day: string | null;
  readonly details: object;
}

const customers = [
  "Zoë Müller",
  "José Rossi",
  "Ada Nowak",
  "Linh Trần",
  "Sam O'Neill",
  "Þóra Jónsdóttir",
  "Olga Иванова",
];
const articles = [
  ["TEA-250", 790],
  ["CUP-1", 1250],
  ["POT-2L", 4999],
  ["SPOON-6", 1425],
  ["HONEY", 675],
] as const;
const firstDay = Date.UTC(2026, 2, 1);
const days = 5;
const dayMs = 86_400_000;

/** Every way in which a message of the demonstration is bad. */
export const spoilings: readonly Spoiling[] = [
  { code: "MALFORMED_PAYLOAD", payload: (order) => json(order).subarray(0, -9) },
  { code: "MALFORMED_PAYLOAD", payload: (order) => inLatin1({ ...order, customer: { name: "Zoë" } }) },
  { code: "UNKNOWN_FIELD", payload: (order) => json({ ...order, coupon: "SPRING" }) },
  { code: "DUPLICATE_FIELD", payload: (order) => json({ ...order, Total: order.total }) },
  { code: "MISSING_REQUIRED", payload: (order) => json({ ...order, order_id: undefined }) },
  { code: "TYPE_MISMATCH", payload: (order) => json({ ...order, total: "about twelve" }) },
  { code: "TYPE_MISMATCH", payload: (order) => json({ ...order, created_at: "2026-02-30T11:00:00Z" }) },
  { code: "OUT_OF_RANGE", payload: (order) => json({ ...order, customer: { id: "9223372036854775808" } }) },
  { code: "PRECISION_LOSS", payload: (order) => json({ ...order, total: `${order.total}00000001` }) },
  { code: "NULL_IN_ARRAY", payload: (order) => json({ ...order, items: [...order.items, null] }) },
];

/**
 * Payloads in the order in which they are published; `bad` of them, spread evenly, are spoilt, each way in turn.
 *
 * @param seed not 0; the same seed gives the same payloads
 */
export function demoPayloads(count: number, bad: number, seed: number): Buffer[] {
  const random = xorshift(seed);
  const every = count / bad;
  return Array.from({ length: count }, (_, i) => {
    const order = randomOrder(i, count, random);
    const turn = Math.floor(i / every);
    const spoilt = i === Math.floor((turn + 0.5) * every);
    return spoilt ? spoilings[turn % spoilings.length]!.payload(order) : json(order);
  });
}

function randomOrder(i: number, count: number, random: () => number): Order {
  const below = (limit: number): number => Math.floor(random() * limit);
  const items = Array.from({ length: 1 + below(3) }, () => {
    const [sku, cents] = articles[below(articles.length)]!;
    return { sku, qty: 1 + below(4), cents };
  });
  const total = items.reduce((sum, { qty, cents }) => sum + qty * cents, 0);
  const createdMs = firstDay + Math.floor((i / count) * days * dayMs) + below(60_000);
  const customer = below(customers.length);
  return {
    order_id: `A-${1001 + i}`,
    customer: { id: 500 + customer, name: customers[customer]! },
    items: items.map(({ sku, qty, cents }) => ({ sku, qty, price: decimal(cents) })),
    total: decimal(total),
    created_at: new Date(createdMs).toISOString(),
    delivery_day: random() < 0.1 ? null : new Date(createdMs + 3 * dayMs).toISOString().slice(0, 10),
    details: { gift: random() < 0.2, channel: random() < 0.6 ? "web" : "shop" },
  };
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** As a publisher writes it that knows no UTF-8. */
function inLatin1(value: object): Buffer {
  return Buffer.from(JSON.stringify(value), "latin1");
}

/** 1250 cents → `12.50`. */
function decimal(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;
}

/** Evenly spread numbers from 0 (inclusive) to 1 (exclusive) by Marsaglia's 32-bit xorshift. */
function xorshift(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4_294_967_296;
  };
}
