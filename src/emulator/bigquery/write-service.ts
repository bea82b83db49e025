/** google.cloud.bigquery.storage.v1.BigQueryWrite, as far as the default streams of tables need it. */
import * as grpc from "@grpc/grpc-js";
import { serviceDefinition, storageProtos } from "../../lib/protos.ts";
import { withBytes } from "../grpc-server.ts";
import { RpcError } from "../rpc-error.ts";
import { type MethodHost, unaryMethod } from "../unary-method.ts";
import { tableNotFound, type AppendLimits } from "./append-connection.ts";
import { appendRows } from "./append-rows.ts";
import type { Catalog } from "./catalog.ts";
import { storageSchema } from "./column-json.ts";
import { requireRouting } from "./routing-header.ts";
import { parseStreamName, textOfStream } from "./table-name.ts";

interface GetWriteStreamRequest {
  readonly name: string;
  readonly view: string;
}

const definition = serviceDefinition(storageProtos(), "google.cloud.bigquery.storage.v1.BigQueryWrite");

/** Names of the service's methods, by which faults go. */
export const writeMethods: readonly string[] = Object.keys(definition);

/** Adds the service to the server of `host`. */
export function addWriteService(host: MethodHost, catalog: Catalog, limits: AppendLimits): void {
  const later = (method: string): grpc.UntypedHandleCall =>
    unaryMethod(host, method, () => {
      throw new RpcError("UNIMPLEMENTED", `The embedded BigQuery has default streams only, and no ${method}`);
    });
  host.server.addService(withBytes(definition, "AppendRows", "request"), {
    AppendRows: appendRows(host, catalog, limits),
    GetWriteStream: unaryMethod(host, "GetWriteStream", (request: GetWriteStreamRequest, call) => {
      requireRouting(call.metadata, ["name"]);
      return getWriteStream(catalog, request);
    }),
    CreateWriteStream: later("CreateWriteStream"),
    FinalizeWriteStream: later("FinalizeWriteStream"),
    BatchCommitWriteStreams: later("BatchCommitWriteStreams"),
    FlushRows: later("FlushRows"),
  });
}

/** A default stream is there as soon as its table is. @throws RpcError */
function getWriteStream(catalog: Catalog, { name, view }: GetWriteStreamRequest): object {
  const stream = parseStreamName(name);
  if (!stream) throw new RpcError("INVALID_ARGUMENT", "Invalid stream name");
  if (stream.stream !== "_default") {
    throw new RpcError("UNIMPLEMENTED", "The embedded BigQuery has default streams only");
  }
  const table = catalog.findTable(stream);
  if (!table) throw tableNotFound(stream).asRpcError();
  return {
    name: textOfStream(stream),
    type: "COMMITTED",
    writeMode: "INSERT",
    location: "us",
    createTime: { seconds: Math.floor(table.state.createdMs / 1000) },
    ...(view === "FULL" ? { tableSchema: storageSchema(table.state.columns) } : {}),
  };
}
