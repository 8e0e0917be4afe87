const NAMED: ReadonlyMap<string, string> = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
]);

/** The longest entity there is: `&#x10FFFF;`. */
const LONGEST_ENTITY = 10;

/**
 * What an entity stands for, given what is between `&` and `;`. Undefined for what is no entity: an ampersand that was
 * not escaped is text, as if it had been.
 */
function entity(name: string): string | undefined {
  if (!name.startsWith('#')) return NAMED.get(name);
  const hex = name[1] === 'x' || name[1] === 'X';
  const digits = name.slice(hex ? 2 : 1);
  if (!(hex ? /^[0-9a-fA-F]{1,6}$/ : /^[0-9]{1,7}$/).test(digits)) return undefined;
  const code = Number.parseInt(digits, hex ? 16 : 10);
  const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : undefined;
}

/** The text of an element without markup in it. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&([^&;\s<]{1,8});/g, (written, name: string) => entity(name) ?? written);
}

/** Text of an element, escaped so that it comes out of {@link decodeEntities} as it was. */
export const escapeText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Starts decoding one text. */
export function entityDecoder() {
  let held = '';
  return {
    push(text: string): string {
      const whole = held + text;
      const last = whole.lastIndexOf('&');
      const isOpen = last >= 0 && whole.length - last < LONGEST_ENTITY && !/[;\s<]/.test(whole.slice(last));
      held = isOpen ? whole.slice(last) : '';
      return decodeEntities(isOpen ? whole.slice(0, last) : whole);
    },
    /** What was still waiting, as the text it is. */
    end(): string {
      const rest = held;
      held = '';
      return decodeEntities(rest);
    },
  };
}

/** Decodes text that arrives in pieces: what may be the beginning of an entity waits for the rest. */
export type EntityDecoder = ReturnType<typeof entityDecoder>;
