/** Names of topics and subscriptions. */
import { invalidArgument, RpcError } from "../rpc-error.ts";

export type Collection = "topics" | "subscriptions";

/** A letter, then letters, digits and a few signs: 3 to 255 characters. */
const resourceId = /^(?!goog)[A-Za-z][A-Za-z0-9._~+%-]{2,254}$/;

export interface ResourceName {
  readonly project: string;
  readonly id: string;
}

/**
 * Reads `projects/P/topics/T` or `projects/P/subscriptions/S`.
 *
 * @throws RpcError INVALID_ARGUMENT
 */
export function parseResourceName(collection: Collection, name: string): ResourceName {
  const [projects, project, kind, id, ...rest] = name.split("/");
  const wellFormed = projects === "projects" && project && kind === collection && id && rest.length === 0;
  if (!wellFormed || !resourceId.test(id)) {
    throw invalidArgument(
      `"${name}" is no name of ${collection}: expected projects/PROJECT/${collection}/ID, the ID 3 to 255 characters long, ` +
        `beginning with a letter, of letters, digits and - _ . ~ + %, not beginning with "goog"`,
    );
  }
  return { project, id };
}

/** @param name of a topic or subscription */
export function resourceNotFound(name: string): RpcError {
  return new RpcError("NOT_FOUND", `Resource not found (resource=${name})`);
}
