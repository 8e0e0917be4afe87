import { compileSchema } from '@treadle/core/json';
import type { Validator } from '@treadle/core/ports';
import { RE2JS } from 're2js';

/**
 * A validator that checks patterns too, in time proportional to the text: RE2 never backtracks, so no schema can stop the
 * process. RE2 has no look-around, no back-references, no repeat counts above 1,000 and no long property names such as
 * `\p{Letter}`. Such a pattern is skipped, and a warning `pattern_unchecked` names it.
 *
 * @example
 * ```ts
 * import { defineAgent } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 * import { re2Validator } from '@treadle/tools';
 *
 * const agent = defineAgent({ model: scriptedModel(['Hello.']), validator: re2Validator() });
 * console.log(agent.validator?.compile({ pattern: '^[a-z]+$' })('A1').length); // 1
 * ```
 */
export const re2Validator = (): Validator => VALIDATOR;

/** One for all agents, so that a schema is compiled once. */
const VALIDATOR: Validator = Object.freeze({
  compile: (schema) => compileSchema(schema, matcherOf),
} satisfies Validator);

function matcherOf(pattern: string): ((text: string) => boolean) | null {
  const source = asRe2(pattern);
  if (source === null) return null;
  try {
    const compiled = RE2JS.compile(source);
    return (text) => compiled.test(text);
  } catch {
    // Not an expression of RE2: the check says that it skips it.
    return null;
  }
}

/** What `\s` of JavaScript matches, as the inside of a class. `\s` of RE2 is ASCII. */
const SPACES = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
const NO_SPACES =
  String.raw`\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
  String.raw`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`;
const LINE_ENDS = String.raw`\n\r\x{2028}\x{2029}`;

const TOKEN = /\\[^]|\[\^?|[^]/gu;
/** Escapes that RE2 lacks, or reads differently from JavaScript. */
const FOREIGN = /^\\(?![bBcdDfnpPrsStuvwWx])[A-Za-z1-9]/u;

const tokensOf = (pattern: string): readonly string[] => pattern.match(TOKEN) ?? [];

/** A pattern of JavaScript with the same meaning in RE2; null when there is none. */
function asRe2(pattern: string): string | null {
  if (tokensOf(pattern).some((token) => FOREIGN.test(token))) return null;
  let isInClass = false;
  let source = '';
  for (const token of tokensOf(RE2JS.translateRegExp(pattern))) {
    if (token === String.raw`\s`) source += isInClass ? SPACES : `[${SPACES}]`;
    else if (token === String.raw`\S`) source += isInClass ? NO_SPACES : `[${NO_SPACES}]`;
    else if (token === '.' && !isInClass) source += `[^${LINE_ENDS}]`;
    else if (token.startsWith('[') && isInClass) source += `\\${token}`;
    else source += token;
    if (token.startsWith('[')) isInClass = true;
    if (token === ']') isInClass = false;
  }
  return source;
}
