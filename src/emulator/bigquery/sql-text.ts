/** BigQuery's way to name tables and parameters, turned into DuckDB's. All other SQL is DuckDB's own and passes as it is. */

/** Comments, then texts and quoted names, in which nothing is turned; then what is. */
const token = /--[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\$[\s\S]*?\$\$|`([^`]+)`|@(\w+)/g;

/**
 * `` `p.d.t` `` becomes "p"."d"."t"; `` `name` `` becomes "name"; `@name` becomes `$name`; a comment after `#` becomes one after `--`.
 */
export function translateSql(sql: string): string {
  return sql.replace(token, (all: string, name?: string, parameter?: string) => {
    if (name !== undefined) return name.split(".").map(quoteName).join(".");
    if (parameter !== undefined) return `$${parameter}`;
    return all.startsWith("#") ? `--${all.slice(1)}` : all;
  });
}

/** A name as DuckDB takes any: in double quotes. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Parts of a name as DuckDB spells it: quoted where it must be. */
export function splitName(name: string): readonly string[] {
  const parts = name.match(/"(?:[^"]|"")*"|[^."]+/g) ?? [];
  return parts.map((part) => (part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part));
}
