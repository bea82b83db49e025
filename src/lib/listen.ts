import type { Server } from "node:net";

/**
 * Has a server listen.
 *
 * @param port 0 for any free one
 * @returns resolves when it does; rejects when the address cannot be had
 */
export function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
