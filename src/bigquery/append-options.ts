/** How rows are grouped into requests, and requests spread over connections. */

/** When a batch of rows is sent: at the first of these limits. */
export interface BatchOptions {
  readonly maxBytes: number;
  readonly maxRows: number;
  /** Milliseconds that the first row of a batch waits for more. */
  readonly maxDelayMs: number;
}

export interface AppendOptions {
  /** Requests without an answer, per connection. */
  readonly maxInFlight: number;
  readonly minConnections: number;
  readonly maxConnections: number;
  /** Bytes of a serialized request, all included; BigQuery takes at most 20 MB. */
  readonly maxRequestBytes: number;
}
