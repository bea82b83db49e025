/** Labels of topics, subscriptions and snapshots. */
import { invalidArgument } from "../rpc-error.ts";

export type Labels = Readonly<Record<string, string>>;

const maxLabels = 64;
/** Lower-case letters of any script, digits, `_` and `-`; a key begins with a letter. */
const keyForm = /^(?!\p{Lu})\p{L}[\p{Ll}\p{Lo}\p{N}_-]{0,62}$/u;
const valueForm = /^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$/u;

/** @throws RpcError INVALID_ARGUMENT when there are too many, or one is not formed as the service wants it */
export function checkLabels(labels: Labels): Labels {
  const entries = Object.entries(labels);
  if (entries.length > maxLabels) {
    throw invalidArgument(`There are ${entries.length} labels; at most ${maxLabels} are taken`);
  }
  for (const [key, value] of entries) {
    if (!keyForm.test(key)) {
      throw invalidArgument(
        `"${key}" is no key of a label: 1 to 63 lower-case letters, digits, _ and -, a letter first`,
      );
    }
    if (!valueForm.test(value)) {
      throw invalidArgument(`The value of label ${key}: up to 63 lower-case letters, digits, _ and - are taken`);
    }
  }
  return labels;
}
