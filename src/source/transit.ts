/**
 * How long a response may have been on its way: in the stream's window while nobody read it, and in the socket while the
 * process stood still. The service counts a lease from the moment at which it sends.
 */
import type { Clock, Timer } from "../lib/clock.ts";

/** A read that waited so long for its response found nothing that lay ready. */
const freshAfterMs = 50;
/** How finely bytes are told apart by when they were read. */
const marksPerWindow = 16;

/** The bytes that one stream has brought. */
export class WindowAge {
  readonly #windowBytes: number;
  /** When the stream had brought so many bytes; the first is the last one that lies a whole window back. */
  readonly #marks: { readonly bytes: number; readonly atMs: number }[];
  #bytes = 0;
  #readAt: number;
  #freshAt: number;

  /**
   * @param windowBytes how many bytes the service may send ahead of us
   * @param now on the monotonic clock, as all moments here
   */
  constructor(windowBytes: number, now: number) {
    this.#windowBytes = windowBytes;
    this.#marks = [{ bytes: 0, atMs: now }];
    this.#readAt = now;
    this.#freshAt = now;
  }

  /** The next response is asked for. */
  read(now: number): void {
    this.#readAt = now;
  }

  /**
   * A response has come.
   *
   * @returns for how long it may have lain ready, in milliseconds. It cannot have been sent before there was room for it in
   *          the window, nor before the last moment at which nothing lay ready
   */
  arrived(bytes: number, now: number): number {
    if (now - this.#readAt >= freshAfterMs) this.#freshAt = now;
    const marks = this.#marks;
    while (marks[1] && marks[1].bytes <= this.#bytes - this.#windowBytes) marks.shift();
    const ageMs = now - Math.max(this.#freshAt, marks[0]!.atMs);
    this.#bytes += bytes;
    if (this.#bytes - marks.at(-1)!.bytes >= this.#windowBytes / marksPerWindow) {
      marks.push({ bytes: this.#bytes, atMs: now });
    }
    return ageMs;
  }
}

const pulseMs = 1000;

/** How long the process stands still, because it has too much to do, gets no processor or was suspended. */
export class Pulse {
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #beatAt: number;
  #lateMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beatAt = clock.monotonic();
  }

  start(): void {
    this.#beatAt = this.#clock.monotonic();
    this.#wait();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** For how long what is seen now may have waited to be seen, in milliseconds. */
  get lagMs(): number {
    return Math.max(this.#lateMs, this.#clock.monotonic() - this.#beatAt - pulseMs);
  }

  #wait(): void {
    this.#timer = this.#clock.setTimer(() => this.#beat(), pulseMs);
  }

  #beat(): void {
    const now = this.#clock.monotonic();
    this.#lateMs = Math.max(0, now - this.#beatAt - pulseMs);
    this.#beatAt = now;
    this.#wait();
  }
}
