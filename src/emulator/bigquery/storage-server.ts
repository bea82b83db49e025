/** The gRPC server of the Storage Write API. It can be stopped and started on its port while tables and streams stay. */
import { type Clock, pause } from "../../lib/clock.ts";
import type { Faults } from "../faults.ts";
import { GrpcServer } from "../grpc-server.ts";
import type { AppendSettings } from "./append-connection.ts";
import type { Catalog } from "./catalog.ts";
import { OpenStreams } from "./open-streams.ts";
import type { RateLimit } from "./rate-limit.ts";
import { addWriteService } from "./write-service.ts";

export interface StorageSettings extends AppendSettings {
  /** Of AppendRows at a time. */
  readonly maxConnections: number;
  /** How many write streams may be created. */
  readonly creations: RateLimit;
}

interface Running {
  readonly server: GrpcServer;
  readonly openStreams: OpenStreams;
}

export class StorageServer {
  readonly #faults: Faults;
  readonly #clock: Clock;
  readonly #catalog: Catalog;
  readonly #settings: StorageSettings;
  #running: Running | undefined;
  #address = { host: "", port: 0 };

  constructor(faults: Faults, clock: Clock, catalog: Catalog, settings: StorageSettings) {
    this.#faults = faults;
    this.#clock = clock;
    this.#catalog = catalog;
    this.#settings = settings;
  }

  /** Where it listens, or did when it was stopped. */
  get host(): string {
    return this.#address.host;
  }

  get port(): number {
    return this.#address.port;
  }

  /** @param port 0 for any free one; absent: the one that it had */
  async start(port = this.#address.port): Promise<void> {
    if (this.#running) throw new Error("The Storage server runs already");
    const server = new GrpcServer();
    const openStreams = new OpenStreams(this.#settings.maxConnections);
    const host = { server, faults: this.#faults, clock: this.#clock };
    addWriteService(host, this.#catalog, { ...this.#settings, openStreams });
    await server.listen(port);
    this.#running = { server, openStreams };
    this.#address = { host: server.host, port: server.port };
  }

  /**
   * Takes no more calls. With time to spare, AppendRows streams end behind the answers that are due, then clients are
   * asked to leave (GOAWAY); what is open after that time is cut.
   */
  async stop(graceMs = 0): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (!running) return;
    const untilMs = this.#clock.monotonic() + graceMs;
    if (graceMs > 0) await Promise.race([running.openStreams.endAll(), pause(this.#clock, graceMs)]);
    await running.server.close(Math.max(untilMs - this.#clock.monotonic(), 0));
  }
}
