import { secretSpellings } from '@treadle/core/features';

/** Replaces secrets in a text. */
export type Redact = (text: string) => string;

const MARK = '[redacted]';

/** Shorter values are words like `none` that a placeholder key may be; replacing them would spoil the text. */
const SHORTEST_SECRET = 6;

/**
 * Shapes of credentials, whoever they belong to. Each is linear: no part of a pattern can match what the next part
 * begins with.
 */
const SHAPES: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${MARK}`],
  // `sk-…`, `sk_live_…`, `xai-…`, `gsk_…`: letters, then a long tail. A provider's shortened form has asterisks.
  [/\b(?:sk|pk|rk|xai|gsk|pplx|key|hf|fw|nvapi|csk|tgp)[-_][\w*-]{8,}/gi, MARK],
  [/\bAIza[\w-]{30,}/g, MARK],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, MARK],
  [/\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g, MARK],
  [
    /\b((?:api[-_]?key|access[-_]?token|x-api-key|authorization|secret|password)["']?\s*[:=]\s*["']?)[^\s"',;&}]{6,}/gi,
    `$1${MARK}`,
  ],
];

const escapedForPattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** A function that replaces `secrets`, however they are spelt (`secretSpellings`), and whatever looks like a credential. */
export function createRedact(secrets: readonly string[]): Redact {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    for (const form of secretSpellings(secret)) forms.add(form);
  }
  // Longest first: one secret may be the beginning of another.
  const known = [...forms].sort((a, b) => b.length - a.length).map((form) => escapedForPattern(form));
  const own = known.length === 0 ? undefined : new RegExp(known.join('|'), 'g');
  return (text) => {
    let clean = own === undefined ? text : text.replace(own, MARK);
    for (const [pattern, replacement] of SHAPES) clean = clean.replace(pattern, replacement);
    return clean;
  };
}
