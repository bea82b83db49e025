import { describe, expect, test } from "vitest";
import { SetupError } from "../../../src/errors.ts";
import { parseTableReference, tableName } from "../../../src/schema/table-reference.ts";

describe("parseTableReference", () => {
  const orders = { project: "acme-1", dataset: "sales", table: "orders" };

  test.each([
    ["acme-1.sales.orders", orders],
    ["acme-1:sales.orders", orders],
    ["projects/acme-1/datasets/sales/tables/orders", orders],
    ["example.com:acme.sales.orders", { project: "example.com:acme", dataset: "sales", table: "orders" }],
    ["example.com:acme:sales.orders", { project: "example.com:acme", dataset: "sales", table: "orders" }],
    ["acme-1.sales_2024.Bestellungen größer-1", { ...orders, dataset: "sales_2024", table: "Bestellungen größer-1" }],
  ])("reads %s", (text, expected) => expect(parseTableReference(text)).toEqual(expected));

  test.each([
    "",
    "orders",
    "sales.orders",
    "acme-1.sales",
    "acme-1.sales.orders.more",
    "acme-1/sales/orders",
    "projects/acme-1/datasets/sales",
    "projects/acme-1/tables/sales/datasets/orders",
    "1acme.sales.orders",
    "acme-1.sa-les.orders",
    "acme-1.sales.ord`ers",
    " acme-1.sales.orders",
    `acme-1.sales.${"t".repeat(1025)}`,
  ])("refuses %j", (text) => expect(() => parseTableReference(text)).toThrow(SetupError));

  test("is spelled out for the storage API", () => {
    expect(tableName(orders)).toBe("projects/acme-1/datasets/sales/tables/orders");
  });
});
