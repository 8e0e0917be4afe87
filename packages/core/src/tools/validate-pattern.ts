/** A `pattern` made ready to run, or the reason why it can't be. */
export type CompiledPattern =
  | {
      readonly ok: true;
      /** Characters (UTF-16 units) of the longest text it may be run on. */
      readonly maxLength: number;
      readonly test: (text: string) => boolean;
    }
  | { readonly ok: false; readonly reason: string };

/** Steps of backtracking a pattern may take at worst. */
const STEP_BUDGET = 1e8;

/**
 * Compiles a JSON Schema `pattern` (a JavaScript regular expression, not anchored). JavaScript's engine backtracks, so a
 * schema from elsewhere could stop the process: a repetition inside a repetition is refused, and every open repetition
 * lowers the length of text the pattern is run on.
 */
export function compilePattern(source: string): CompiledPattern {
  let expression: RegExp;
  try {
    expression = toExpression(source);
  } catch {
    return { ok: false, reason: 'is not a valid regular expression' };
  }
  const shape = measure(source);
  if (shape.nested) {
    return {
      ok: false,
      reason: 'repeats a group that itself repeats or branches, which can take exponential time; write it without that',
    };
  }
  const power = shape.open + (source.startsWith('^') ? 0 : 1);
  const maxLength = power <= 1 ? Infinity : Math.floor(STEP_BUDGET ** (1 / power));
  return { ok: true, maxLength, test: (text) => expression.test(text) };
}

/** With the `u` flag as the standard asks; without it for sources only the old grammar accepts, such as `\-`. */
function toExpression(source: string): RegExp {
  try {
    return new RegExp(source, 'u');
  } catch {
    return new RegExp(source);
  }
}

/** Counts open repetitions, and finds groups repeated that repeat or branch inside. */
function measure(source: string): { open: number; nested: boolean } {
  const groups: { repeats: boolean }[] = [{ repeats: false }];
  let open = 0;
  let nested = false;
  let closed: { repeats: boolean } | undefined;
  for (let at = 0; at < source.length; at += 1) {
    const character = source[at];
    const group = groups.at(-1);
    if (group === undefined) break;
    const repeat = repetition(source, at);
    if (repeat !== undefined) {
      if (repeat.most > 1) {
        if (closed?.repeats === true) nested = true;
        group.repeats = true;
        if (repeat.most === Infinity) open += 1;
      }
      at += repeat.length - 1;
      closed = undefined;
      continue;
    }
    closed = undefined;
    if (character === '\\') at += 1;
    else if (character === '[') at = endOfClass(source, at);
    else if (character === '|') group.repeats = true;
    else if (character === '(') groups.push({ repeats: false });
    else if (character === ')' && groups.length > 1) {
      closed = groups.pop();
      const parent = groups.at(-1);
      if (parent !== undefined && closed?.repeats === true) parent.repeats = true;
    }
  }
  return { open, nested };
}

const COUNTED = /\{(\d+)(,(\d*))?\}\??/y;

/** The repetition written at `at`: its length in the source and how often it repeats at most. */
function repetition(source: string, at: number): { length: number; most: number } | undefined {
  const character = source[at];
  const lazy = source[at + 1] === '?' ? 2 : 1;
  if (character === '*' || character === '+') return { length: lazy, most: Infinity };
  if (character === '?') return source[at - 1] === '(' ? undefined : { length: lazy, most: 1 };
  if (character !== '{') return undefined;
  COUNTED.lastIndex = at;
  const match = COUNTED.exec(source);
  if (match === null) return undefined;
  const most = match[2] === undefined ? Number(match[1]) : match[3] === '' ? Infinity : Number(match[3]);
  return { length: match[0].length, most };
}

function endOfClass(source: string, start: number): number {
  for (let at = start + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === ']') return at;
  }
  return source.length;
}
