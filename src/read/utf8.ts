import { isUtf8 } from "node:buffer";

/** Up to here a loop is quicker than the call of the native check. */
const shortBytes = 64;

/** `bytes[start, end)` is valid UTF-8 (RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF). */
export function isValidUtf8(bytes: Buffer, start: number, end: number): boolean {
  return end - start > shortBytes ? isUtf8(bytes.subarray(start, end)) : isShortUtf8(bytes, start, end);
}

function isShortUtf8(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at < end) {
    const lead = bytes[at]!;
    if (lead < 0x80) {
      at++;
      continue;
    }
    const length = sequenceLength(lead);
    if (length === 0 || at + length > end || !isSecondByte(lead, bytes[at + 1]!)) return false;
    for (let i = at + 2; i < at + length; i++) if ((bytes[i]! & 0xc0) !== 0x80) return false;
    at += length;
  }
  return true;
}

/** Bytes of the sequence that a lead byte begins; 0 when it begins none. */
function sequenceLength(lead: number): number {
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

/** The second byte rules out overlong forms, surrogates and what lies above U+10FFFF. */
function isSecondByte(lead: number, byte: number): boolean {
  if ((byte & 0xc0) !== 0x80) return false;
  if (lead === 0xe0) return byte >= 0xa0;
  if (lead === 0xed) return byte < 0xa0;
  if (lead === 0xf0) return byte >= 0x90;
  return lead !== 0xf4 || byte < 0x90;
}
