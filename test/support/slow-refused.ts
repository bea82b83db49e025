import type { RefusalCode } from "../../src/errors.ts";

/** How the slow path says no: thrown by the conversion that found the fault, completed with the path by the walk. */
export class Refused extends Error {
  readonly code: RefusalCode;
  readonly path: string;

  constructor(code: RefusalCode, path = "") {
    super(code);
    this.code = code;
    this.path = path;
  }
}
