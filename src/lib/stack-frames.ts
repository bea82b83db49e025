/** @returns where an error was raised, the innermost call first; without its words, which may quote a payload */
export function stackFrames({ message, stack = "" }: Error): string[] {
  const behindWords = stack.slice(Math.max(0, stack.indexOf(message)) + message.length);
  const frames = behindWords.split("\n").filter((line) => /^\s+at /.test(line));
  return frames.map((line) => line.trim());
}
