const BACKSLASH = 92;
const ZERO = 48;
const NINE = 57;

/** What can't stand in a JSON string as it is. */
export const ESCAPED = /["\\\p{Cc}]/u;

/** The text that `json` is between its quotes, or undefined when it isn't. */
export const unescaped = (json: string): string | undefined => {
  try {
    return JSON.parse(`"${json}"`) as string;
  } catch {
    return undefined;
  }
};

/** Where the string ends that has begun before `from`: the place of its closing quote, or -1. */
export const endOfString = (data: string, from: number): number => {
  for (let end = data.indexOf('"', from); end !== -1; end = data.indexOf('"', end + 1)) {
    let slashes = end;
    while (slashes > from && data.charCodeAt(slashes - 1) === BACKSLASH) slashes--;
    if ((end - slashes) % 2 === 0) return end;
  }
  return -1;
};

/** Where the count ends that begins at `from`; `from` itself when there is none. */
export const endOfCount = (data: string, from: number): number => {
  let end = from;
  for (let code = data.charCodeAt(end); code >= ZERO && code <= NINE; code = data.charCodeAt(++end));
  return end - from > 1 && data.charCodeAt(from) === ZERO ? from : end;
};
