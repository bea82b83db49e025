import { MillraceError, type RefusalCode } from "../errors.ts";

/** What keeps a payload from becoming a row, and where: thrown by a walk, turned into a refusal where the message is known. */
export class PayloadFault extends MillraceError {
  override readonly name: string = "PayloadFault";
  readonly code: RefusalCode;
  /** Where in the buffer the faulty value or key begins. */
  readonly offset: number;
  /** The path within the value at `offset`, when that is a text which holds JSON text. */
  readonly innerPath: string;

  /** @param message one sentence that never holds the value itself */
  constructor(code: RefusalCode, message: string, offset: number, innerPath = "") {
    super(message);
    this.code = code;
    this.offset = offset;
    this.innerPath = innerPath;
  }
}
