/** google.cloud.bigquery.storage.v1.BigQueryWrite. */
import type * as grpc from "@grpc/grpc-js";
import { serviceDefinition, storageProtos } from "../../lib/protos.ts";
import { withBytes } from "../grpc-server.ts";
import { type MethodHost, unaryMethod } from "../unary-method.ts";
import type { AppendSettings } from "./append-connection.ts";
import { AppendRefusal } from "./append-refusal.ts";
import { appendRows } from "./append-rows.ts";
import type { Catalog } from "./catalog.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { RateLimit } from "./rate-limit.ts";
import { requireRouting } from "./routing-header.ts";
import { WriteStreams } from "./write-streams.ts";

const definition = serviceDefinition(storageProtos(), "google.cloud.bigquery.storage.v1.BigQueryWrite");

/** Names of the service's methods, by which faults go. */
export const writeMethods: readonly string[] = Object.keys(definition);

export interface WriteSettings extends AppendSettings {
  readonly openStreams: OpenStreams;
  /** How many write streams may be created. */
  readonly creations: RateLimit;
}

/** Adds the service to the server of `host`. */
export function addWriteService(host: MethodHost, catalog: Catalog, settings: WriteSettings): void {
  const streams = new WriteStreams(catalog, () => host.clock.now(), settings.creations);
  /** @param routing parameter of the routing header that the method needs */
  const method = (name: string, routing: string, handle: (request: never) => object): grpc.UntypedHandleCall =>
    unaryMethod(host, name, (request: object, call) => {
      requireRouting(call.metadata, [routing]);
      return answered(() => handle(request as never));
    });
  host.server.addService(withBytes(definition, "AppendRows", "request"), {
    AppendRows: appendRows(host, catalog, settings, settings.openStreams),
    CreateWriteStream: method("CreateWriteStream", "parent", streams.create.bind(streams)),
    GetWriteStream: method("GetWriteStream", "name", streams.get.bind(streams)),
    FinalizeWriteStream: method("FinalizeWriteStream", "name", streams.finalize.bind(streams)),
    FlushRows: method("FlushRows", "write_stream", streams.flush.bind(streams)),
    BatchCommitWriteStreams: method("BatchCommitWriteStreams", "parent", streams.batchCommit.bind(streams)),
  });
}

/** A refusal is the end of a unary call. @throws RpcError */
function answered(handle: () => object): object {
  try {
    return handle();
  } catch (error) {
    throw error instanceof AppendRefusal ? error.asRpcError() : error;
  }
}
