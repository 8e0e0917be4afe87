import { FileProblem } from '../root/problem.ts';

/** Tells whether a path, with `/` and relative to where the search began, matches. */
export type GlobMatcher = (path: string) => boolean;

const longestGlob = 500;
const mostAlternatives = 200;

/**
 * Compiles a glob: `*` and `?` within a name, `**` across folders, `[a-z]` and `[!a-z]`, `{one,other}`. A glob without
 * `/` is compared with the last name of the path, one with `/` with the whole path. Matching is polynomial in the
 * path's length whatever the glob: it never backtracks over more than one star at a time.
 */
export function compileGlob(glob: string): GlobMatcher {
  if (glob === '') throw badGlob(glob, 'it is empty');
  if (glob.length > longestGlob) throw badGlob(glob, `it is longer than ${longestGlob} characters`);
  if (glob.startsWith('!')) throw badGlob(glob, 'a leading "!" is not supported');
  const anchored = glob.includes('/');
  const alternatives = expandBraces(glob.replace(/^\.?\//, '')).map((one) => one.split('/').map(compileName));
  return (path) => {
    const names = path.split('/');
    const compared = anchored ? names : names.slice(-1);
    return alternatives.some((segments) => matchSegments(segments, compared));
  };
}

/** A star, or what one character has to be. */
type Token = '*' | ((character: string) => boolean);
type Segment = 'any folders' | readonly Token[];

const badGlob = (glob: string, reason: string): FileProblem =>
  new FileProblem('bad_request', `The glob ${JSON.stringify(glob)} can not be used: ${reason}.`);

/** `a{b,c}d` → `abd`, `acd`; nested braces too. A brace that isn't closed is an ordinary character. */
function expandBraces(glob: string): string[] {
  const done: string[] = [];
  const open = [glob];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const group = innermostGroup(one);
    if (group === undefined) {
      done.push(one);
    } else {
      const [start, end] = group;
      for (const choice of one.slice(start + 1, end).split(',')) {
        open.push(one.slice(0, start) + choice + one.slice(end + 1));
      }
    }
    if (done.length + open.length > mostAlternatives) {
      throw badGlob(glob, `its braces stand for more than ${mostAlternatives} globs`);
    }
  }
  return done;
}

function innermostGroup(glob: string): readonly [number, number] | undefined {
  for (let end = glob.indexOf('}'); end >= 0; end = glob.indexOf('}', end + 1)) {
    const start = glob.lastIndexOf('{', end);
    if (start >= 0) return [start, end];
  }
  return undefined;
}

/** Stars, a class, a character behind a backslash, or one that stands for itself. */
const TOKENS = /\*+|\[[^][^\]]*\]|\\[^]|[^]/gu;

function compileName(name: string): Segment {
  if (name === '**') return 'any folders';
  return (name.match(TOKENS) ?? []).map((token): Token => {
    if (token.startsWith('*')) return '*';
    if (token === '?') return () => true;
    const [first, ...rest] = token;
    if (first === '[' && rest.length > 1) return characterClass(rest.slice(0, -1));
    const expected = rest[0] ?? first;
    return (character) => character === expected;
  });
}

function characterClass(members: readonly string[]): (character: string) => boolean {
  const negated = members[0] === '!' || members[0] === '^';
  const listed = negated ? members.slice(1) : members;
  const ranges: [string, string][] = [];
  for (let index = 0; index < listed.length; index += 1) {
    const from = listed[index] ?? '';
    if (listed[index + 1] === '-' && index + 2 < listed.length) {
      ranges.push([from, listed[index + 2] ?? from]);
      index += 2;
    } else {
      ranges.push([from, from]);
    }
  }
  return (character) => ranges.some(([from, to]) => character >= from && character <= to) !== negated;
}

const matchSegments = (segments: readonly Segment[], names: readonly string[]): boolean =>
  matchWithStars(
    segments,
    names,
    (segment) => segment === 'any folders',
    (segment, name) => segment !== 'any folders' && matchName(segment, name),
  );

const matchName = (tokens: readonly Token[], name: string): boolean =>
  matchWithStars(
    tokens,
    [...name],
    (token) => token === '*',
    (token, character) => token !== '*' && token(character),
  );

/** The usual two-pointer match: on a mismatch only the latest star takes one more item, which is enough. */
function matchWithStars<P, I>(
  pattern: readonly P[],
  items: readonly I[],
  isStar: (part: P) => boolean,
  accepts: (part: P, item: I) => boolean,
): boolean {
  let at = 0;
  let star = -1;
  let starItem = 0;
  let index = 0;
  while (index < items.length) {
    const part = pattern[at];
    const item = items[index];
    if (part !== undefined && isStar(part)) {
      star = at;
      starItem = index;
      at += 1;
    } else if (part !== undefined && item !== undefined && accepts(part, item)) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      starItem += 1;
      index = starItem;
      at = star + 1;
    } else {
      return false;
    }
  }
  return pattern.slice(at).every(isStar);
}
