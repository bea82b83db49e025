/** Groups rows into requests: by bytes and count (the batch of rows knows when it is full) and by delay. */
import type { Clock, Timer } from "../lib/clock.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import type { PendingRows } from "./pending-rows.ts";

export interface BatcherOptions {
  /** Milliseconds that the first row of a batch waits for more. */
  readonly maxDelayMs: number;
  readonly clock: Clock;
  /** Makes an empty batch for rows of this transcoder. */
  readonly create: (transcoder: Transcoder) => PendingRows;
  /** Called when the delay of the batch is over. */
  readonly onDue: () => void;
}

export class Batcher {
  readonly #options: BatcherOptions;
  #filling: PendingRows | undefined;
  #timer: Timer | undefined;
  /** Since when the batch could be sent. */
  #readyAtMs: number | undefined;
  /** It takes no further row. */
  #finished = false;

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  /** The batch being filled, if there is one. */
  get filling(): PendingRows | undefined {
    return this.#filling;
  }

  /**
   * The batch that takes the next row; undefined when the present one has to be taken first, because it is full
   * or its rows have another descriptor.
   */
  open(transcoder: Transcoder): PendingRows | undefined {
    if (this.#filling && this.#filling.transcoder !== transcoder) {
      if (this.#filling.rows.rowCount > 0) this.finish();
      else this.close();
    }
    if (this.#finished) return undefined;
    this.#filling ??= this.#options.create(transcoder);
    return this.#filling;
  }

  /** Rows were added: the first of them starts the delay. */
  added(): void {
    if (!this.filled) return;
    if (this.#filling!.rows.full) this.finish();
    else this.#timer ??= this.#options.clock.setTimer(() => this.#delayOver(), this.#options.maxDelayMs);
  }

  /** The batch takes no further row. */
  finish(): void {
    this.#finished = true;
    this.#ready();
  }

  /** There are rows. */
  get filled(): boolean {
    return this.#filling !== undefined && this.#filling.rows.rowCount > 0;
  }

  /** The batch should be sent: it has waited long enough, or takes no further row. */
  get due(): boolean {
    return this.#readyAtMs !== undefined;
  }

  /** Hands the batch over, with the moment since when it could have been sent (monotonic milliseconds). */
  take(): { readonly pending: PendingRows; readonly readyAtMs: number } {
    const pending = this.#filling!;
    const readyAtMs = this.#readyAtMs ?? this.#options.clock.monotonic();
    this.#reset();
    pending.seal();
    return { pending, readyAtMs };
  }

  /** Gives the batch up. */
  close(): void {
    this.#filling?.discard();
    this.#reset();
  }

  #reset(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#filling = undefined;
    this.#readyAtMs = undefined;
    this.#finished = false;
  }

  #ready(): void {
    this.#readyAtMs ??= this.#options.clock.monotonic();
  }

  #delayOver(): void {
    this.#ready();
    this.#options.onDue();
  }
}
