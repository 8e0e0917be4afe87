/**
 * What a script finds: `tools`, `console`, and a clock and random numbers that are the same each time it is run. Written for
 * the engine, and run there before the script.
 */
export const PRELUDE = `
'use strict';
{
  const { __call: call, __log: log, __now: now, __random: random, __names: names } = globalThis;
  for (const name of ['__call', '__log', '__now', '__random', '__names']) delete globalThis[name];

  const valueOf = (text) => {
    if (!/^\\s*[[{]/.test(text)) return text;
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  };
  const inOrder = (_, item) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.keys(item).sort().map((key) => [key, item[key]]))
      : item;
  const tool = (name) => async (args = {}) => {
    const text = JSON.stringify(args, inOrder);
    if (text === undefined || text[0] !== '{') throw new TypeError('tools.' + name + ' takes one object of arguments.');
    const { result, isError } = JSON.parse(await call(name, text));
    if (isError) throw new Error(result);
    return valueOf(result);
  };
  globalThis.tools = Object.freeze(Object.fromEntries(JSON.parse(names).map((name) => [name, tool(name)])));

  const shown = (value) => {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return String(value);
    return JSON.stringify(value) ?? String(value);
  };
  const print = (...values) => log(values.map(shown).join(' '));
  globalThis.console = Object.freeze({ log: print, info: print, warn: print, error: print, debug: print });

  Math.random = random;
  const Clock = Date;
  globalThis.Date = class Date extends Clock {
    constructor(...given) {
      if (given.length === 0) super(now());
      else super(...given);
    }
    static now() {
      return now();
    }
  };
}
`;
