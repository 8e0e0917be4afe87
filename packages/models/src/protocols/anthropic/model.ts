/** The version stands after the family (`claude-opus-4-1-20250805`) or before it (`claude-3-7-sonnet-latest`). */
const VERSION = /claude-(?:[a-z]+-)*?v?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/;

/** Whether `modelId` is a model of Claude of this version or a later one. A name without a version is a newest model's. */
export function isAtLeast(modelId: string, major: number, minor: number): boolean {
  if (!modelId.includes('claude-')) return false;
  const found = VERSION.exec(modelId);
  if (found === null) return true;
  const own = Number(found[1]);
  return own > major || (own === major && Number(found[2] ?? 0) >= minor);
}
