/** Names of topics, subscriptions and snapshots. */
import { randomUUID } from "node:crypto";
import { invalidArgument, RpcError } from "../rpc-error.ts";

export type Collection = "topics" | "subscriptions" | "snapshots";

/** A letter, then letters, digits and a few signs: 3 to 255 characters. */
const resourceId = /^(?!goog)[A-Za-z][A-Za-z0-9._~+%-]{2,254}$/;

export interface ResourceName {
  readonly project: string;
  readonly id: string;
}

/**
 * Reads `projects/P/topics/T`, `projects/P/subscriptions/S` or `projects/P/snapshots/S`.
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

/** A name for something that was created without one. */
export function generatedName(project: string, collection: Collection): string {
  return `projects/${project}/${collection}/generated-${randomUUID()}`;
}

/** @param name of a topic, subscription or snapshot */
export function resourceNotFound(name: string): RpcError {
  return new RpcError("NOT_FOUND", `Resource not found (resource=${name})`);
}

/** @param name of a topic, subscription or snapshot */
export function resourceExists(name: string): RpcError {
  return new RpcError("ALREADY_EXISTS", `Resource already exists (resource=${name})`);
}
