/** Lists in pages. */
import { invalidArgument } from "../rpc-error.ts";

export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

export interface Page {
  readonly items: readonly string[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

const maxPageSize = 1000;

/** One page of the names in their order; the token is the name before the page's first. */
export function page(names: readonly string[], { pageSize, pageToken }: PageRequest): Page {
  if (pageSize < 0) throw invalidArgument("page_size is negative");
  const rest = names.filter((name) => name > pageToken).toSorted();
  const items = rest.slice(0, pageSize === 0 ? maxPageSize : Math.min(pageSize, maxPageSize));
  return { items, nextPageToken: items.length < rest.length ? items.at(-1)! : "" };
}
