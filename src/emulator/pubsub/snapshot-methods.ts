/** The methods of the Subscriber service that deal with snapshots and with seeking. */
import type { UntypedServiceImplementation } from "@grpc/grpc-js";
import { invalidArgument } from "../rpc-error.ts";
import { unaryMethod, type MethodHost } from "../unary-method.ts";
import type { Broker } from "./broker.ts";
import { fromTimestamp, type Timestamp } from "./duration.ts";
import type { Labels } from "./labels.ts";
import { page, type PageRequest } from "./page.ts";
import type { SnapshotResource } from "./snapshot.ts";

interface Named {
  readonly snapshot: string;
}

interface CreateRequest {
  readonly name: string;
  readonly subscription: string;
  readonly labels: Labels;
}

interface UpdateRequest {
  readonly snapshot: SnapshotResource | null;
  readonly updateMask: { readonly paths: readonly string[] } | null;
}

interface ListRequest extends PageRequest {
  readonly project: string;
}

/** One of the two is given. */
interface SeekRequest {
  readonly subscription: string;
  readonly time?: Timestamp | null;
  readonly snapshot?: string;
}

/** The methods, by name. */
export function snapshotHandlers(host: MethodHost, broker: Broker): UntypedServiceImplementation {
  const resourceOf = (name: string): SnapshotResource => broker.snapshotResource(broker.snapshots.get(name));
  return {
    CreateSnapshot: unaryMethod(host, "CreateSnapshot", (request: CreateRequest) =>
      broker.snapshotResource(broker.createSnapshot(request)),
    ),
    GetSnapshot: unaryMethod(host, "GetSnapshot", (request: Named) => resourceOf(request.snapshot)),
    UpdateSnapshot: unaryMethod(host, "UpdateSnapshot", ({ snapshot, updateMask }: UpdateRequest) => {
      if (!snapshot) throw invalidArgument("The request names no snapshot");
      return broker.snapshotResource(broker.updateSnapshot(snapshot, updateMask?.paths ?? []));
    }),
    ListSnapshots: unaryMethod(host, "ListSnapshots", (request: ListRequest) => {
      const names = broker.snapshots.names.filter((name) => name.startsWith(`${request.project}/`));
      const { items, nextPageToken } = page(names, request);
      return { snapshots: items.map(resourceOf), nextPageToken };
    }),
    DeleteSnapshot: unaryMethod(host, "DeleteSnapshot", (request: Named) => {
      broker.snapshots.delete(request.snapshot);
      return {};
    }),
    Seek: unaryMethod(host, "Seek", (request: SeekRequest) => {
      seek(broker, request);
      return {};
    }),
  };
}

function seek(broker: Broker, { subscription, time, snapshot }: SeekRequest): void {
  if (time) broker.seekToTime(subscription, fromTimestamp(time));
  else if (snapshot) broker.seekToSnapshot(subscription, snapshot);
  else throw invalidArgument("Seek names neither a time nor a snapshot");
}
