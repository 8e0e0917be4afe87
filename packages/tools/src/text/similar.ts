/** How alike two short texts are, from 0 to 1: the share of two-character pieces they have in common. Linear time. */
export function similarity(one: string, other: string): number {
  if (one === other) return 1;
  if (one.length < 2 || other.length < 2) return 0;
  const pieces = new Map<string, number>();
  for (let index = 0; index < one.length - 1; index += 1) {
    const piece = one.slice(index, index + 2);
    pieces.set(piece, (pieces.get(piece) ?? 0) + 1);
  }
  let shared = 0;
  for (let index = 0; index < other.length - 1; index += 1) {
    const piece = other.slice(index, index + 2);
    const left = pieces.get(piece) ?? 0;
    if (left > 0) {
      pieces.set(piece, left - 1);
      shared += 1;
    }
  }
  return (2 * shared) / (one.length + other.length - 2);
}
