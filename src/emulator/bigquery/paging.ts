/** Pages of lists: how many entries, from where, and the token that continues. */
import { invalid } from "./api-error.ts";

export interface Page {
  readonly from: number;
  readonly to: number;
  /** Undefined on the last page. */
  readonly nextToken: string | undefined;
}

const token = /^page_(\d+)$/;

/**
 * The page that `maxResults`, `pageToken` and `startIndex` ask for.
 *
 * @param total number of entries
 * @param most entries of a page, however many were asked for
 * @throws ApiError 400
 */
export function pageOf(query: URLSearchParams, total: number, most: number): Page {
  const size = Math.min(wholeNumber(query, "maxResults") ?? most, most);
  const from = Math.min(startOf(query), total);
  const to = Math.min(from + size, total);
  const nextToken = to < total && size > 0 ? Buffer.from(`page_${to}`).toString("base64url") : undefined;
  return { from, to, nextToken };
}

function startOf(query: URLSearchParams): number {
  const given = query.get("pageToken");
  if (!given) return wholeNumber(query, "startIndex") ?? 0;
  const [, position] = token.exec(Buffer.from(given, "base64url").toString()) ?? [];
  if (position === undefined) throw invalid("Invalid page token");
  return Number(position);
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^\d{1,15}$/.test(text)) throw invalid(`Invalid value for ${name}`);
  return Number(text);
}
