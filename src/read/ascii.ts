/** The characters that JSON's grammar is made of. */
export const quote = 0x22;
export const comma = 0x2c;
export const minus = 0x2d;
export const plus = 0x2b;
export const point = 0x2e;
export const zero = 0x30;
export const colon = 0x3a;
export const openBracket = 0x5b;
export const backslash = 0x5c;
export const closeBracket = 0x5d;
export const letterE = 0x65;
export const letterF = 0x66;
export const letterN = 0x6e;
export const letterT = 0x74;
export const letterU = 0x75;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const blank = 0x20;
/** Letters differ from their other case in this bit. */
export const caseBit = 0x20;
