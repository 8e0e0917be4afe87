const NUMBERS = new Map(
  (
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen ' +
    'eighteen nineteen twenty'
  )
    .split(' ')
    .map((word, value) => [word, value] as const),
);
for (const [word, value] of [
  ['a couple of', 2],
  ['couple of', 2],
  ['a dozen', 12],
  ['dozen', 12],
  ['half a dozen', 6],
  ['thirty', 30],
  ['forty', 40],
  ['fifty', 50],
  ['hundred', 100],
  ['a hundred', 100],
] as const) {
  NUMBERS.set(word, value);
}

const words = [...NUMBERS.keys()].sort((a, b) => b.length - a.length).join('|');
/** Pattern source of a count in digits or words. */
export const COUNT = `(?:\\d{1,6}|${words})`;

/** The value of a count in digits or words. */
export function countOf(text: string): number | undefined {
  const word = text.trim().toLowerCase();
  return /^\d{1,6}$/.test(word) ? Number(word) : NUMBERS.get(word);
}

/** `3` → `three`, for sentences; larger counts stay digits. */
export function inWords(count: number): string {
  const word = [...NUMBERS].find(([, value]) => value === count)?.[0];
  return count <= 12 && word !== undefined ? word : grouped(count);
}

/** `12345` → `12,345`. The same on every machine, whatever its locale. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `1 file`, `2 files`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${grouped(count)} ${count === 1 ? singular : plural}`;
}

/** `a, b and c`. */
export function listed(parts: readonly string[]): string {
  const last = parts.at(-1) ?? '';
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`;
}

const PREFIXES: readonly RegExp[] = [
  /^(?:please|kindly|hello|hi|hey|ok(?:ay)?|right|great|thanks|thank you|well|so|now|also|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|then|finally|lastly|and|but|just|quickly|simply|again)\b\s*[,:!]?\s+/i,
  /^(?:can|could|would|will) you\s+(?:please\s+)?(?:tell me|show me|say|work out|check|help me)?\s*/i,
  /^(?:would you mind|i(?:'d| would) (?:like|love|want) (?:you )?(?:to)?|i (?:want|need|would like) (?:you )?(?:to)?|let(?:'s| us)|help me(?: to)?|try to|go ahead and|your (?:task|job) is to|please)\s+/i,
  /^(?:tell me|let me know|i(?:'d| would) like to know|i (?:want|need) to know|do you know|say|work out|figure out|check|determine|report)\s+(?=(?:what|which|where|how|whether|if|the (?:total|sum|average|mean|number|names?|largest|smallest|biggest|newest|oldest))\b)/i,
];
const SUFFIX = /(?:(?:\s*,\s*|\s+)(?:please|for me|thanks|thank you|if you can|will you|would you|right away|now))+$/i;

/** A clause without the courtesies around it: what is left is the request itself. */
export function withoutCourtesy(clause: string): string {
  let text = clause.trim().replace(/[\s.!?,:]+$/, '');
  for (let changed = true; changed;) {
    changed = false;
    for (const prefix of PREFIXES) {
      const shorter = text.replace(prefix, '');
      if (shorter !== text) {
        text = shorter;
        changed = true;
      }
    }
  }
  return text.replace(SUFFIX, '').trim();
}
