/**
 * Messages that were given back for a while. Here they are settled; to the service each is outstanding on the stream that
 * brought it until its pause is over, and takes part of that stream's window. Enough of them would keep all others out.
 */
export class AwayMessages {
  readonly #window: number;
  #groups: { readonly messages: number; readonly backAtMs: number }[] = [];

  /** @param window how many messages may be outstanding on the streams that are open */
  constructor(window: number) {
    this.#window = window;
  }

  /**
   * Messages go away.
   *
   * @param backAtMs on the monotonic clock
   * @returns whether those that are away take half of the window: streams that are opened anew have it whole. From then on
   *          only later ones count
   */
  add(messages: number, backAtMs: number, nowMs: number): boolean {
    this.#groups = this.#groups.filter((group) => group.backAtMs > nowMs);
    this.#groups.push({ messages, backAtMs });
    const away = this.#groups.reduce((sum, group) => sum + group.messages, 0);
    if (2 * away < this.#window) return false;
    this.#groups = [];
    return true;
  }
}
