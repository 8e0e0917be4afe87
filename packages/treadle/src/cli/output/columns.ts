/** Rows whose columns line up, two spaces between them. The columns that `right` names stand to the right, as numbers do. */
export function columns(rows: readonly (readonly string[])[], right = (_column: number): boolean => false): string {
  const count = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const cell = (text: string, column: number): string =>
    right(column) ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0);
  return rows.map((row) => `${row.map(cell).join('  ').trimEnd()}\n`).join('');
}
