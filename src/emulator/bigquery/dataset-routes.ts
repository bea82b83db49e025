/** REST: datasets. */
import { invalid } from "./api-error.ts";
import type { Catalog, Dataset } from "./catalog.ts";
import type { Clock } from "../../lib/clock.ts";
import { pageOf } from "./paging.ts";
import type { RestRequest, Route } from "./rest-server.ts";
import type { JsonObject } from "./stored-table.ts";

const maxPage = 1000;

export function datasetRoutes(catalog: Catalog, clock: Clock): readonly Route[] {
  const all = "/projects/:project/datasets";
  const one = `${all}/:dataset`;
  return [
    { name: "datasets.list", method: "GET", path: all, handle: (request) => list(catalog, request) },
    { name: "datasets.insert", method: "POST", path: all, handle: (request) => insert(catalog, clock, request) },
    {
      name: "datasets.get",
      method: "GET",
      path: one,
      handle: ({ path }) => resource(catalog.dataset(path["project"]!, path["dataset"]!)),
    },
    { name: "datasets.delete", method: "DELETE", path: one, handle: (request) => remove(catalog, request) },
  ];
}

function insert(catalog: Catalog, clock: Clock, { path, body }: RestRequest): object {
  const { datasetReference, ...rest } = body;
  const { datasetId } = (datasetReference ?? {}) as { datasetId?: unknown };
  if (typeof datasetId !== "string") throw invalid("Required parameter is missing: datasetReference.datasetId");
  const settings = Object.fromEntries(Object.entries(rest).filter(([key]) => !outputOnly.has(key)));
  const dataset = { project: path["project"]!, id: datasetId, settings, createdMs: Math.floor(clock.now()) };
  return resource(catalog.createDataset(dataset));
}

const outputOnly = new Set(["kind", "etag", "id", "selfLink", "creationTime", "lastModifiedTime"]);

function list(catalog: Catalog, { path, query }: RestRequest): object {
  const datasets = catalog.datasets(path["project"]!);
  const { from, to, nextToken } = pageOf(query, datasets.length, maxPage);
  return {
    kind: "bigquery#datasetList",
    datasets: datasets.slice(from, to).map(summary),
    ...(nextToken === undefined ? {} : { nextPageToken: nextToken }),
  };
}

function remove(catalog: Catalog, { path, query }: RestRequest): undefined {
  catalog.deleteDataset(path["project"]!, path["dataset"]!, query.get("deleteContents") === "true");
}

function summary({ project, id, settings }: Dataset): JsonObject {
  return {
    kind: "bigquery#dataset",
    id: `${project}:${id}`,
    datasetReference: { projectId: project, datasetId: id },
    location: settings["location"] ?? "US",
  };
}

function resource(dataset: Dataset): JsonObject {
  const { project, id, settings, createdMs } = dataset;
  return {
    ...settings,
    ...summary(dataset),
    selfLink: `/bigquery/v2/projects/${project}/datasets/${id}`,
    creationTime: String(createdMs),
    lastModifiedTime: String(createdMs),
  };
}
