/**
 * Text from a model, a tool or a file as it may go to a terminal: line breaks and tabs stay, every other control
 * character (escape sequences begin with one) is shown as a picture of itself, and what turns the direction of text
 * around is left out. Carriage returns are dropped: nothing is printed over.
 */
export function plainText(text: string): string {
  return UNSAFE.test(text) ? text.replace(UNSAFE_ALL, (character) => picture(character)) : text;
}

/** The same on one line of at most `length` characters; `…` at its end says that there is more. */
export function plainLine(text: string, length = Number.POSITIVE_INFINITY): string {
  // Cut first, so that a long text isn't worked through for its beginning.
  const source = text.slice(0, length * 4 + 64);
  const line = plainText(source.toWellFormed()).replace(/\s+/g, ' ').trim();
  const characters = [...line];
  if (characters.length <= length && source.length === text.length) return line;
  return `${characters.slice(0, length - 1).join('')}…`;
}

// oxlint-disable-next-line no-control-regex -- control characters are what this file is about
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
const UNSAFE_ALL = new RegExp(UNSAFE.source, 'g');

function picture(character: string): string {
  const code = character.charCodeAt(0);
  if (character === '\r' || code >= 0x2000) return '';
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}
