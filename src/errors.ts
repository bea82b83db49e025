/**
 * The base class of every error that Millrace raises on purpose, and the catalogue of refusal codes:
 * why a message cannot become a row, and what its owner can do. `docs/errors.md` is generated from it.
 */

/** An error whose message is written for the person who runs Millrace: what failed, where, what to do. */
export class MillraceError extends Error {
  override readonly name: string = "MillraceError";
}

/** The start cannot go on: a bad configuration, a mapping that cannot be. Ends a command with exit status 2. */
export class SetupError extends MillraceError {
  override readonly name: string = "SetupError";
}

export type RefusalCode = keyof typeof refusalCodes;

/** Every reason for which a single message is refused. */
export const refusalCodes = {
  MALFORMED_PAYLOAD: {
    summary: "The payload is not what its encoding promises: not JSON by RFC 8259, not UTF-8, not one object.",
    remedy: "Mend the publisher. `millrace map` shows where the payload breaks.",
  },
  SCHEMA_UNKNOWN: {
    summary: "The schema revision that the message names cannot be had.",
    remedy: "Restore the revision, or roll the topic back to one that exists.",
  },
  UNKNOWN_FIELD: {
    summary: "The message has a field for which the table has no column.",
    remedy: "Add the column to the table, or set `dropUnknownFields: true`.",
  },
  DUPLICATE_FIELD: {
    summary: "Two fields of one object stand for the same column, or the same key comes twice.",
    remedy: "Mend the publisher: column names are compared without case.",
  },
  MISSING_REQUIRED: {
    summary: "A REQUIRED column has no value.",
    remedy: "Publish the field, relax the column to NULLABLE, or give it a default and set `missingValues: default`.",
  },
  NULL_IN_ARRAY: {
    summary: "An array has a null element; BigQuery's arrays hold no NULL.",
    remedy: "Leave the element out, or wrap the elements in records.",
  },
  TYPE_MISMATCH: {
    summary: "The value has no form that this column takes.",
    remedy: "Publish one of the forms that docs/type-compatibility.md lists for the column's type.",
  },
  OUT_OF_RANGE: {
    summary: "The value has the right form, but the column cannot hold it.",
    remedy: "Widen the column (its type, precision or length), or mend the value.",
  },
  PRECISION_LOSS: {
    summary: "The value has more digits than the column keeps.",
    remedy: "Publish fewer digits, widen the column, or set `onPrecisionLoss: round`.",
  },
  ROW_TOO_LARGE: {
    summary: "The row is larger than a whole append request may be.",
    remedy: "Publish smaller messages, or raise `append.maxRequestBytes` up to 20 MB.",
  },
  ROW_REJECTED: {
    summary: "BigQuery refused the row.",
    remedy: "Read BigQuery's own words in the dead letter; check constraints and limits of the table.",
  },
  CDC_BAD_CHANGE_TYPE: {
    summary: "The change type is neither UPSERT nor DELETE.",
    remedy: "Publish `_CHANGE_TYPE` as UPSERT or DELETE, exactly so spelled.",
  },
  CDC_BAD_SEQUENCE: {
    summary: "The change sequence number has not the form that BigQuery takes.",
    remedy: "Publish one to four groups of 1–16 hexadecimal digits, separated by slashes.",
  },
  INTERNAL_ERROR: {
    summary: "Millrace failed on this message, which is a defect of Millrace and not a fault of the message.",
    remedy: "Report it with the stack that the log shows; publish the message again once the defect is mended.",
  },
  TRANSFORM_FAILED: {
    summary: "The transform threw an error or gave back something that is no message.",
    remedy: "Mend the transform; `millrace map` runs it on a file.",
  },
} as const;

/** Where on its way a message was refused. */
export type Stage = "transform" | "transcode" | "append";

/** A single value cannot be written: the code and one sentence that never holds the value itself. */
export interface Fault {
  readonly code: RefusalCode;
  readonly message: string;
}

/** Why one message becomes no row. */
export interface Refusal extends Fault {
  /** The field as the message spells it, such as `items[2].price`; empty for a fault of the whole message. */
  readonly path: string;
  readonly stage: Stage;
  /** BigQuery's own words about the row; they may quote it, so they go into the dead letter and nowhere else. */
  readonly serverMessage?: string;
}
