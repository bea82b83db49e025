/** How the cells of a column stand. */
type Align = "left" | "right";

export interface TextColumn {
  readonly title: string;
  readonly align?: Align;
  /** Longer cells are cut, with a mark. */
  readonly maxWidth?: number;
}

/** Rows under aligned titles, as lines without a newline. Widths are counted in code points. */
export function textTable(columns: readonly TextColumn[], rows: readonly (readonly string[])[]): string[] {
  const cells = rows.map((row) => columns.map(({ maxWidth = Infinity }, i) => cut(row[i] ?? "", maxWidth)));
  const widths = columns.map(({ title }, i) => Math.max(lengthOf(title), ...cells.map((row) => lengthOf(row[i]!))));
  const line = (row: readonly string[]): string =>
    columns
      .map(({ align = "left" }, i) => pad(row[i]!, widths[i]!, align))
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [line(columns.map(({ title }) => title)), rule, ...cells.map(line)];
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}

function pad(text: string, width: number, align: Align): string {
  const blanks = " ".repeat(Math.max(0, width - lengthOf(text)));
  return align === "left" ? text + blanks : blanks + text;
}

function cut(text: string, maxWidth: number): string {
  const characters = Array.from(text);
  return characters.length <= maxWidth ? text : `${characters.slice(0, maxWidth - 1).join("")}…`;
}
