/** Why leases end: `maxAckExtensionPeriod` is over, `releaseAfter` is over, or they may have ended before they could be extended. */
export type LeaseEnd = "limit" | "released" | "expired";

/** What a subscription tells those who count. Called per response, request or batch, never per message. */
export interface PullObserver {
  /** A response with messages came in. */
  received(messages: number, bytes: number): void;
  /** A response could not be read: its messages will be delivered again. */
  responseDropped(bytes: number): void;
  /** The service has taken an Acknowledge request for so many messages. */
  acked(messages: number): void;
  /** The service has taken a request that gives so many messages back, at once or after a pause. */
  nacked(messages: number): void;
  /** The service has taken a request that extends the leases of so many messages. */
  extended(messages: number): void;
  /** A request for so many messages was given up with this gRPC status, by name: the service may deliver them again. */
  requestFailed(kind: "ack" | "nack" | "extend", messages: number, code: string): void;
  /** The leases of so many messages have ended, or are not extended any more. */
  leaseEnded(messages: number, reason: LeaseEnd): void;
  /** A stream answers. */
  streamOpened(): void;
  /** A stream has ended with this gRPC status, by name. */
  streamClosed(code: string): void;
  /** What is held at this moment: messages and bytes that are not settled, batches under lease. */
  outstanding(messages: number, bytes: number, leases: number): void;
  /** How long a batch of so many messages took from its arrival to its settlement, in seconds. */
  timeToAck(seconds: number, messages: number): void;
}
