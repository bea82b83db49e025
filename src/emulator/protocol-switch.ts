/** One port for HTTP/2 and HTTP/1: a connection's first bytes say which it is. */
import type { Socket } from "node:net";

/** What every HTTP/2 connection begins with, as far as no method of HTTP/1 does. */
const http2Beginning = Buffer.from("PRI ");

/**
 * Waits for a connection's first bytes and hands it over; they can be read again. A connection that says nothing, or
 * ends before, is handed to nobody.
 */
export function switchByProtocol(
  socket: Socket,
  http2: (socket: Socket) => void,
  http1: (socket: Socket) => void,
): void {
  let seen = Buffer.alloc(0);
  const look = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    if (seen.length < http2Beginning.length) return;
    socket.off("readable", look);
    socket.unshift(seen);
    const isHttp2 = seen.subarray(0, http2Beginning.length).equals(http2Beginning);
    (isHttp2 ? http2 : http1)(socket);
  };
  socket.on("readable", look);
  // Who takes it over listens for itself; before that, an error closes the socket and concerns nobody.
  socket.on("error", () => undefined);
}
