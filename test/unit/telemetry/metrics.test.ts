import { expect, test } from "vitest";
import { counters, gauges, histograms, PipelineMetrics } from "../../../src/telemetry/metrics.ts";
import { openPrometheusExport } from "../../../src/telemetry/prometheus.ts";
import { startHttpServer } from "../../../src/http/server.ts";
import { statusOf } from "../../../src/telemetry/status.ts";

test("names keep to the grammar: millrace_<what>, counters end in _total, histograms in a unit; none comes twice", () => {
  for (const { name } of Object.values(counters)) expect(name).toMatch(/^millrace_[a-z_]+_total$/);
  for (const { name } of Object.values(gauges)) expect(name).toMatch(/^millrace_[a-z_]+(?<!_total)$/);
  for (const { name } of Object.values(histograms)) expect(name).toMatch(/^millrace_[a-z_]+_seconds$/);
  const names = [counters, gauges, histograms].flatMap((kind) => Object.values(kind).map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
});

test("counts add up, in all and by label", () => {
  const metrics = new PipelineMetrics("orders");
  metrics.count("receivedMessages", 500);
  metrics.count("receivedMessages", 20);
  metrics.count("refusedMessages", 2, "OUT_OF_RANGE");
  metrics.count("refusedMessages", 1, "UNKNOWN_FIELD");
  metrics.count("refusedMessages", 3, "OUT_OF_RANGE");
  metrics.set("outstandingMessages", 7);
  const health = { name: "orders", state: "ACTIVE", reason: "" } as const;
  expect(statusOf(health, metrics)).toEqual({
    ...health,
    received: 520,
    appended: 0,
    refused: { OUT_OF_RANGE: 5, UNKNOWN_FIELD: 1 },
    deadLettered: 0,
    acked: 0,
    outstanding: 7,
  });
});

test("/metrics shows every metric of every pipeline, a later one in place of an earlier one of its name", async () => {
  const prometheus = await openPrometheusExport();
  const orders = new PipelineMetrics("orders");
  const refunds = new PipelineMetrics("refunds");
  prometheus.show(orders);
  prometheus.show(refunds);
  orders.count("receivedMessages", 12);
  refunds.count("receivedMessages", 5);
  orders.count("refusedMessages", 2, "OUT_OF_RANGE");
  orders.count("failedAckMessages", 7, "ack", "INVALID_ARGUMENT");
  orders.count("failedAckMessages", 1, "extend", "UNAVAILABLE");
  orders.set("leases", 3);
  orders.record("append", 0.03);
  orders.record("append", 7);
  const server = await startHttpServer(
    { host: "127.0.0.1", port: 0 },
    {
      live: () => true,
      ready: () => ({ ready: true, reasons: [] }),
      status: () => ({}),
      metrics: (request, response) => prometheus.serve(request, response),
    },
  );
  const scrape = async (): Promise<string[]> =>
    (await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text()).split("\n");

  const lines = await scrape();
  expect(lines).toContain("# TYPE millrace_received_messages_total counter");
  expect(lines).toContain(`# HELP millrace_leases ${gauges.leases.help}`);
  expect(lines).toContain('millrace_received_messages_total{pipeline="orders"} 12');
  expect(lines).toContain('millrace_received_messages_total{pipeline="refunds"} 5');
  expect(lines).toContain('millrace_appended_rows_total{pipeline="refunds"} 0');
  expect(lines).toContain('millrace_refused_messages_total{pipeline="orders",code="OUT_OF_RANGE"} 2');
  expect(lines).toContain('millrace_ack_failures_total{pipeline="orders",kind="ack",code="INVALID_ARGUMENT"} 7');
  expect(lines).toContain('millrace_ack_failures_total{pipeline="orders",kind="extend",code="UNAVAILABLE"} 1');
  expect(lines).toContain('millrace_leases{pipeline="orders"} 3');
  expect(lines).toContain('millrace_append_seconds_bucket{pipeline="orders",le="0.025"} 0');
  expect(lines).toContain('millrace_append_seconds_bucket{pipeline="orders",le="0.05"} 1');
  expect(lines).toContain('millrace_append_seconds_bucket{pipeline="orders",le="+Inf"} 2');
  expect(lines).toContain('millrace_append_seconds_sum{pipeline="orders"} 7.03');

  const again = new PipelineMetrics("orders");
  again.count("receivedMessages", 1);
  prometheus.show(again);
  expect(await scrape()).toContain('millrace_received_messages_total{pipeline="orders"} 1');
  await server.close();
});
