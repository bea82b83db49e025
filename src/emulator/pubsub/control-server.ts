/** What the port of the embedded Pub/Sub answers to plain HTTP, as users of Google's emulator know it: `POST /reset`. */
import { createServer, type RequestListener, type Server } from "node:http";

/** @param reset deletes everything that the server holds */
export function controlServer(reset: () => void): Server {
  const answer: RequestListener = ({ method, url }, response) => {
    const request = `${method} ${url}`;
    if (request === "POST /reset") reset();
    const known = request === "POST /reset" || request === "GET /";
    response.writeHead(known ? 200 : 404, { "content-type": "text/plain", connection: "close" });
    response.end(known ? "Ok\n" : "The embedded Pub/Sub speaks gRPC here; of plain HTTP it knows POST /reset\n");
  };
  return createServer(answer);
}
