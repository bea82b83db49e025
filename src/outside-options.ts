/** Options that name something outside: a table, a subscription or topic, an endpoint. */
import { z } from "zod";
import { MillraceError } from "./errors.ts";
import { parseEndpoint } from "./lib/endpoint-address.ts";
import { expected, flag, isMap, map } from "./options/option.ts";
import { parseTableReference, type TableReference } from "./schema/table-reference.ts";

/** A table of BigQuery, in any of its three spellings. */
export function tableName(description: string): z.ZodPipe<z.ZodString, z.ZodTransform<TableReference, string>> {
  const form = "a table: P.D.T, P:D.T or projects/P/datasets/D/tables/T";
  return z
    .string(expected(form))
    .transform((name, context) => {
      try {
        return parseTableReference(name);
      } catch (error) {
        if (!(error instanceof MillraceError)) throw error;
        context.addIssue({ code: "custom", message: `expected ${form}` });
        return z.NEVER;
      }
    })
    .meta({ description, form: "P.D.T, P:D.T or projects/P/datasets/D/tables/T" });
}

/** A Pub/Sub resource name. The last part has 3 to 255 characters, begins with a letter and not with "goog". */
export function resource(kind: "subscriptions" | "topics", description: string): z.ZodString {
  const letter = kind === "topics" ? "T" : "S";
  const form = `projects/P/${kind}/${letter}`;
  const name = expected(
    `a name of 3 to 255 characters in the place of ${letter}: letters, digits and -_.~+%, beginning with a letter and not with goog`,
  );
  return z
    .string(expected(form))
    .regex(new RegExp(`^projects/[^/\\s]+/${kind}/[^/\\s]+$`), { ...expected(form), abort: true })
    .regex(/\/(?!goog)[A-Za-z][A-Za-z0-9._~+%-]{2,254}$/, name)
    .meta({ description, form });
}

/** Where the services are; a plaintext endpoint is allowed where `parseEndpoint` says so. */
export const endpointTexts = map({
  pubsub: endpoint("Pub/Sub, gRPC. Without it counts PUBSUB_EMULATOR_HOST, then pubsub.googleapis.com."),
  bigquery: endpoint("BigQuery, REST. Without it counts BIGQUERY_EMULATOR_HOST, then bigquery.googleapis.com."),
  bigqueryStorage: endpoint(
    "BigQuery Storage Write API, gRPC. Without it counts BIGQUERY_STORAGE_EMULATOR_HOST, then bigquerystorage.googleapis.com.",
  ),
  insecure: flag("Allows plaintext to other hosts than this machine. A plaintext endpoint never gets credentials."),
}).superRefine(refuseBadAddresses, { when: isMap });

/** Endpoints as the file gives them. */
export type EndpointTexts = z.output<typeof endpointTexts>;

function endpoint(description: string): z.ZodExactOptional<z.ZodString> {
  return z.string(expected("host:port or a URL")).exactOptional().meta({ description, form: "host:port or URL" });
}

function refuseBadAddresses(texts: EndpointTexts, context: z.RefinementCtx): void {
  for (const name of ["pubsub", "bigquery", "bigqueryStorage"] as const) {
    const text = texts[name];
    const endpoint = typeof text === "string" ? parseEndpoint(text, { insecure: texts.insecure }) : undefined;
    if (typeof endpoint === "string") context.addIssue({ code: "custom", path: [name], message: endpoint });
  }
}
