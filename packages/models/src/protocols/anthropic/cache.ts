/** The field of an object, its last, by which the service is asked to keep what comes before its end. */
export const MARK = ',"cache_control":{"type":"ephemeral"}';

/** JSON of one or more objects with the last of them marked; `''` stays empty. */
export function marked(json: string): string {
  return json === '' ? '' : `${json.slice(0, -1)}${MARK}}`;
}
