/** Values and characters that are written of one value. A list may have four billion places, and one object many parents. */
const MOST_VALUES = 1_000_000;
const MOST_CHARACTERS = 100_000_000;

/**
 * `JSON.stringify` of a value that may be anything, in bounded time.
 *
 * @throws RangeError when the text is longer than any that is of use; whatever code in the value throws.
 */
export function jsonText(value: unknown): string | undefined {
  let values = 0;
  let characters = 0;
  const counted = (key: string, item: unknown): unknown => {
    values += 1;
    characters += key.length + (typeof item === 'string' ? item.length : 0);
    if (values > MOST_VALUES || characters > MOST_CHARACTERS) throw new RangeError('The value is too large for JSON.');
    return item;
  };
  return JSON.stringify(value, counted);
}
