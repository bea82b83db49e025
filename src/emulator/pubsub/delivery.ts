/** What a subscription knows of one message, of one ordering key, and of one who holds messages. */
import { Chain, type Chained } from "./chain.ts";
import type { StoredMessage } from "./stored-message.ts";

/**
 * - `waiting`: to be handed out (again)
 * - `held`: handed out, its lease runs
 * - `backing-off`: given back, to be handed out again after the retry policy's pause
 * - `acked-early`: acked before an earlier message of its ordering key; the ack counts once those are acked (ORDER-02)
 * - `done`: acked, forwarded to the dead-letter topic, or too old
 */
export type DeliveryState = "waiting" | "held" | "backing-off" | "acked-early" | "done";

/** One message on its way through one subscription. */
export class Delivery implements Chained {
  chain: Chain<Chained> | undefined;
  previous: Chained | undefined;
  next: Chained | undefined;
  readonly message: StoredMessage;
  readonly key: OrderingKey | undefined;
  state: DeliveryState = "waiting";
  /** Names the latest handing out; 0 before the first. */
  ackNumber = 0;
  /** Nacks and expired leases so far. */
  failures = 0;
  /** Whether the latest handing out has been counted as a failure. */
  failed = false;
  holder: Holder | undefined;

  constructor(message: StoredMessage, key: OrderingKey | undefined) {
    this.message = message;
    this.key = key;
  }
}

/**
 * The messages of one ordering key: those handed out, in order, and those behind them. While any is handed out, later
 * ones go to the same holder, so that they cannot overtake.
 */
export class OrderingKey implements Chained {
  chain: Chain<Chained> | undefined;
  previous: Chained | undefined;
  next: Chained | undefined;
  readonly name: string;
  /** Held or acked early, in order of publication. */
  readonly handedOut: Delivery[] = [];
  readonly waiting = new Chain<Delivery>();
  owner: Holder | undefined;
  backingOff = false;

  constructor(name: string) {
    this.name = name;
  }
}

/** One who holds messages: a streaming pull, or a single unary pull. */
export class Holder {
  readonly maxMessages: number;
  readonly maxBytes: number;
  /** The lease that every message gets at first. */
  ackDeadlineMs: number;
  messages = 0;
  bytes = 0;
  /** Keys whose waiting messages only this holder may have. */
  readonly keys = new Chain<OrderingKey>();
  /** Own keys and everyone's messages take turns. */
  ownKeysNext = false;

  constructor(ackDeadlineMs: number, maxMessages = Infinity, maxBytes = Infinity) {
    this.ackDeadlineMs = ackDeadlineMs;
    this.maxMessages = maxMessages;
    this.maxBytes = maxBytes;
  }

  /** Server flow control: at its limit of unsettled messages or bytes a holder gets nothing more. */
  get hasRoom(): boolean {
    return this.messages < this.maxMessages && this.bytes < this.maxBytes;
  }
}
