import { PATH, filePhrase } from './folder.ts';
import { QUOTE, meant, type Quote } from './quotes.ts';

const TERM = `(?:${QUOTE}|[^\\s,${QUOTE.charAt(0)}]+)`;
const SWAP = /^(replace|substitute|swap|exchange|rename|change|turn|convert|correct) /i;
const PAIR = new RegExp(`(${TERM}) (with|by|for|to|into) (${TERM})(?=[ ,]|$)`, 'iy');
const JOINT = /(?:,? and |, )/iy;
/** A place runs to the next pair. */
const PLACE = new RegExp(
  `,? (?:in|inside|within|throughout|across|from|of) (.+?)(?=(?:,? and |, )${TERM} (?:with|by|for|to|into) |$)`,
  'iy',
);

interface Pair {
  readonly from: string;
  readonly joint: string;
  readonly to: string;
}

/**
 * `replace a with b and c with d in x.md` as one request for each pair. All the pairs of a place are meant at once, so
 * they come in an order in which none touches what another wrote; where there is no such order there is no answer either.
 */
export function pairwise(text: string, quotes: readonly Quote[]): readonly string[] | undefined {
  const verb = SWAP.exec(text)?.[1];
  if (verb === undefined) return undefined;
  const clauses: string[] = [];
  let pending: Pair[] = [];
  let at = verb.length + 1;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) at += match[0].length;
    return match;
  };
  while (at < text.length) {
    const pair = take(PAIR);
    if (pair === null) return undefined;
    pending.push({ from: pair[1] ?? '', joint: pair[2] ?? '', to: pair[3] ?? '' });
    const place = take(PLACE)?.[1];
    if (place !== undefined) {
      const ordered = untouched(pending, quotes);
      if (ordered === undefined) return undefined;
      clauses.push(...ordered.map(({ from, joint, to }) => `${verb} ${from} ${joint} ${to} in ${place}`));
      pending = [];
    }
    if (at < text.length && take(JOINT) === null) return undefined;
  }
  return pending.length === 0 && clauses.length > 1 ? clauses : undefined;
}

function untouched(pairs: readonly Pair[], quotes: readonly Quote[]): readonly Pair[] | undefined {
  const open = pairs.map((pair) => ({ pair, from: meant(pair.from, quotes), to: meant(pair.to, quotes) }));
  const overlap = (a: string, b: string): boolean => a !== '' && b !== '' && (a.includes(b) || b.includes(a));
  if (open.some((one, i) => open.some((other, k) => i !== k && overlap(one.from, other.from)))) return undefined;
  const ordered: Pair[] = [];
  while (open.length > 0) {
    // What it writes must not be what another, still to come, looks for.
    const next = open.findIndex((one) => open.every((other) => other === one || !overlap(one.to, other.from)));
    const [taken] = next < 0 ? [] : open.splice(next, 1);
    if (taken === undefined) return undefined;
    ordered.push(taken.pair);
  }
  return ordered;
}

const HOLDING = '(?:with|containing|holding|saying|that says?|that contains?|which says?|titled|entitled|listing)';
const CREATES = new RegExp(`^(create|make|write|generate|save|add|produce|build) .*[ ,]${HOLDING} `, 'i');
const FILE_WITH = new RegExp(`^(?:the |a )?(?:new )?(?:file )?(?:called |named )?(${PATH}) ${HOLDING} `, 'iu');
const PUTS = new RegExp(
  `^(write|save|put|store|append|add|remove|delete|drop) .*${QUOTE} (?:to|into|in|as|at|from) `,
  'i',
);
const QUOTE_TO = new RegExp(`^${QUOTE} (?:to|into|in|as|at|from) `, 'i');
const SETS = /^(change|set|update|rename|edit) .* to /i;

/** The second request with the verb of the first: `create a.md with "A" and b.md with "B"`. */
export function withVerbOf(left: string, right: string, quotes: readonly Quote[]): string | undefined {
  const file = FILE_WITH.exec(right)?.[1];
  const verb =
    (file !== undefined && filePhrase(file, quotes) !== undefined ? CREATES.exec(left)?.[1] : undefined) ??
    (QUOTE_TO.test(right) ? PUTS.exec(left)?.[1] : undefined) ??
    (/^.+ to /i.test(right) ? SETS.exec(left)?.[1] : undefined);
  return verb === undefined ? undefined : `${verb} ${right}`;
}

const VERBLESS =
  /^(?:the|a|an|its|their|all|\uE000\d+\uE001|(?:names?|sizes?|lines?|words?|characters?|chars?|rows?|columns?|totals?|averages?|means?|medians?|min(?:imum)?|max(?:imum)?|sums? (?:and|or|of))(?=,| |$)|\d+|two|three|four|five|six|seven|eight|nine|ten|largest|smallest|biggest|newest|oldest)(?=,| |$)/i;
const MAKES = /^(?:create|make|generate|produce|build|add|set up|start|write|save|put) /i;

/** Whether what follows has no verb and so belongs to what was asked before. */
export function belongsTo(left: string, right: string, wholeIsUnderstood: boolean): boolean {
  return VERBLESS.test(right) && (MAKES.test(left) || wholeIsUnderstood);
}

/** Words in which a quoted text is only one part: whatever is meant, it is not all of them as they stand. */
export function hasLooseQuote(text: string): boolean {
  return new RegExp(`(?:^|[ ,])${QUOTE}[ ,]|[ ,]${QUOTE}(?:[ ,]|$)`).test(text.trim());
}

/** Words that look like another `… and x to y`. */
export function hasAnotherPair(text: string): boolean {
  return /(?: and |, ).+ (?:to|with|by|into) /i.test(`${text} `);
}
