const MARK = ',"cache_control":{"type":"ephemeral"}';

/** JSON of one or more objects with the last of them marked; `''` stays empty. */
export function marked(json: string): string {
  return json === '' ? '' : `${json.slice(0, -1)}${MARK}}`;
}

/** `text` with the objects marked that end at these places, which rise. */
export function markedAt(text: string, ends: readonly number[]): string {
  let result = '';
  let from = 0;
  for (const end of ends) {
    result += marked(text.slice(from, end));
    from = end;
  }
  return result + text.slice(from);
}
