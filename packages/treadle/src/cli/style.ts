/** Colours, or none. */
export interface Style {
  dim(text: string): string;
  bad(text: string): string;
  good(text: string): string;
}

const PLAIN: Style = { dim: (text) => text, bad: (text) => text, good: (text) => text };
const COLOURED: Style = {
  dim: (text) => `\u001b[2m${text}\u001b[22m`,
  bad: (text) => `\u001b[31m${text}\u001b[39m`,
  good: (text) => `\u001b[32m${text}\u001b[39m`,
};

/** Colours only on a terminal that has them, and only when `NO_COLOR` doesn't forbid them. */
export function styleFor(isTTY: boolean, env: Readonly<Record<string, string | undefined>>): Style {
  return isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb' ? COLOURED : PLAIN;
}
