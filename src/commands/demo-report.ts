/** What the demonstration shows to a person: rows, totals by SQL, and the dead letters. */
import type { EmbeddedServers } from "../emulator/embedded-servers.ts";
import { type TextColumn, textTable } from "../lib/text-table.ts";
import type { DemoResult } from "./demo.ts";

interface Places {
  readonly table: string;
  readonly deadLetterSubscription: string;
}

const shownRows = 6;

export async function demoReport(servers: EmbeddedServers, result: DemoResult, places: Places): Promise<string> {
  const lines = [
    `${result.published} messages published, ${result.rows} rows in ${places.table}, ${result.deadLettered} dead letters, ${result.seconds} s`,
    "",
    `Some of the rows (${places.table})`,
    "",
    ...rowLines(servers, places.table),
    "",
    ...(await totalLines(servers, places.table)),
    "",
    `Dead letters by code, with one example each (${places.deadLetterSubscription.split("/").at(-1)})`,
    "",
    ...letterLines(servers, places.deadLetterSubscription),
    "",
    "Next: the README shows a pipeline of your own.",
  ];
  return `${lines.join("\n")}\n`;
}

const rowColumns: readonly TextColumn[] = [
  { title: "order_id" },
  { title: "customer.name", maxWidth: 15 },
  { title: "items", maxWidth: 20 },
  { title: "total", align: "right" },
  { title: "created_at", maxWidth: 19 },
];

interface OrderRow {
  readonly order_id: string;
  readonly customer: { readonly name: string };
  readonly items: readonly { readonly sku: string; readonly qty: string }[];
  readonly total: string;
  readonly created_at: string;
}

function rowLines({ bigquery }: EmbeddedServers, table: string): string[] {
  const rows = bigquery.rows(table) as unknown as readonly OrderRow[];
  const step = Math.floor(rows.length / shownRows);
  const shown = Array.from({ length: shownRows }, (_, i) => rows[i * step]!);
  return textTable(
    rowColumns,
    shown.map(({ order_id, customer, items, total, created_at }) => [
      order_id,
      customer.name,
      items.map(({ sku, qty }) => `${qty}×${sku}`).join(" "),
      money(total),
      created_at.slice(0, 19),
    ]),
  );
}

interface DayTotal {
  readonly day: string;
  readonly orders: string;
  readonly total: string;
}

async function totalLines({ bigquery }: EmbeddedServers, table: string): Promise<string[]> {
  const sql = [
    "SELECT DATE(created_at) AS day, COUNT(*) AS orders, SUM(total) AS total",
    `FROM \`${table}\``,
    "GROUP BY day ORDER BY day",
  ];
  let rows: readonly DayTotal[];
  try {
    rows = (await bigquery.query(sql.join(" "))) as unknown as readonly DayTotal[];
  } catch (error) {
    const withoutDuckDB = 501;
    if (!(error instanceof Error && "status" in error && error.status === withoutDuckDB)) throw error;
    return ["Totals per day need SQL, and so the optional package @duckdb/node-api, which is not installed."];
  }
  const columns: readonly TextColumn[] = [
    { title: "day" },
    { title: "orders", align: "right" },
    { title: "total", align: "right" },
  ];
  const cells = rows.map(({ day, orders, total }) => [day, orders, money(total)]);
  return ["Totals per day, by SQL", "", ...sql.map((line) => `  ${line}`), "", ...textTable(columns, cells)];
}

const letterColumns: readonly TextColumn[] = [{ title: "code" }, { title: "count", align: "right" }, { title: "path" }];

function letterLines({ pubsub }: EmbeddedServers, subscription: string): string[] {
  const letters = pubsub
    .subscription(subscription)
    .messages()
    .map(({ attributes }) => attributes);
  const groups = [...Map.groupBy(letters, (attributes) => attributes["millrace_error_code"] ?? "")];
  groups.sort(([a], [b]) => a.localeCompare(b));
  const cells = groups.map(([code, group]) => [code, String(group.length), group[0]!["millrace_error_path"] ?? ""]);
  const [title = "", rule = "", ...rows] = textTable(letterColumns, cells);
  const lines = [title, rule];
  for (const [i, [, [example]]] of groups.entries()) {
    lines.push(rows[i]!);
    const reason = example!["CloudPubSubDeadLetterSourceDeliveryErrorMessage"] ?? "";
    for (const line of wrap(reason, 76)) lines.push(`    ${line}`);
  }
  return lines;
}

/** Decimal text with the two fraction digits of money: `31.6` → `31.60`. */
function money(decimal: string): string {
  const [whole = "", fraction = ""] = decimal.split(".");
  return `${whole}.${fraction.padEnd(2, "0")}`;
}

/** Lines of at most `width` characters, broken at blanks. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
