/** Metrics for Prometheus, by the OpenTelemetry SDK. Loaded only by a service that serves them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Attributes, Meter } from "@opentelemetry/api";
import {
  type CounterName,
  counters,
  type GaugeName,
  gauges,
  type HistogramName,
  histograms,
  type PipelineMetrics,
  valueSeparator,
} from "./metrics.ts";

export interface PrometheusExport {
  /** Shows the metrics of a pipeline from now on, in place of an earlier pipeline of the same name. */
  show(metrics: PipelineMetrics): void;
  /** Answers a request for `/metrics`. */
  serve(request: IncomingMessage, response: ServerResponse): void;
}

let shared: Promise<PrometheusExport> | undefined;

/** OpenTelemetry keeps one meter provider per process, so the services of a process share their export. */
export function openPrometheusExport(): Promise<PrometheusExport> {
  shared ??= start();
  return shared;
}

async function start(): Promise<PrometheusExport> {
  const [{ metrics: api }, { NodeSDK }, { PrometheusExporter }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-node"),
    import("@opentelemetry/exporter-prometheus"),
  ]);
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
  });
  const sdk = new NodeSDK({
    serviceName: "millrace",
    metricReaders: [exporter],
    // What is not named here the SDK would take from its own environment variables, exporters to the network included.
    spanProcessors: [],
    logRecordProcessors: [],
    instrumentations: [],
    textMapPropagator: null,
    autoDetectResources: false,
  });
  sdk.start();
  const pipelines = new Map<string, PipelineMetrics>();
  const record = observe(api.getMeter("millrace"), pipelines);
  return {
    show(metrics) {
      pipelines.set(metrics.pipeline, metrics);
      metrics.recordTo((histogram, seconds) => record(histogram, seconds, metrics.pipeline));
    },
    serve: (request, response) => exporter.getMetricsRequestHandler(request, response),
  };
}

/** Makes the instruments: counters and gauges read the pipelines when they are collected; histograms take samples. */
function observe(
  meter: Meter,
  pipelines: ReadonlyMap<string, PipelineMetrics>,
): (histogram: HistogramName, seconds: number, pipeline: string) => void {
  for (const key of Object.keys(counters) as CounterName[]) {
    const { name, help, labels } = { labels: [], ...counters[key] };
    meter.createObservableCounter(name, { description: help }).addCallback((result) => {
      for (const metrics of pipelines.values()) {
        for (const [joined, count] of metrics.counts(key)) {
          const values = joined.split(valueSeparator);
          const attributes: Attributes = { pipeline: metrics.pipeline };
          for (const [i, label] of labels.entries()) attributes[label] = values[i]!;
          result.observe(count, attributes);
        }
      }
    });
  }
  for (const key of Object.keys(gauges) as GaugeName[]) {
    meter.createObservableGauge(gauges[key].name, { description: gauges[key].help }).addCallback((result) => {
      for (const metrics of pipelines.values()) result.observe(metrics.gauge(key), { pipeline: metrics.pipeline });
    });
  }
  const instruments = new Map(
    (Object.keys(histograms) as HistogramName[]).map((key) => {
      const { name, help, buckets } = histograms[key];
      const advice = { explicitBucketBoundaries: [...buckets] };
      return [key, meter.createHistogram(name, { description: help, advice })] as const;
    }),
  );
  return (histogram, seconds, pipeline) => instruments.get(histogram)!.record(seconds, { pipeline });
}
