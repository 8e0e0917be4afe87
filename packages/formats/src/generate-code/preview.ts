import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { createPartialJson, type PartialJson } from '@treadle/core/model';

/** A file is shown again when it has grown by this many characters… */
const MIN_STEP = 40;

/**
 * …and by this part of what was shown, so that all messages about a file together are at most so many times as long as it is:
 * with the characters alone the last pages of a long one would be sent thousands of times.
 */
const GROWTH = 32;

interface Written {
  readonly json: PartialJson;
  shownLength: number | null;
}

/** The files that are being written, as far as their arguments have arrived. Looks at each character once. */
export function createCodePreview() {
  const calls = new Map<string, Written>();

  function contentOf({ json }: Written): string | null {
    const { value } = json;
    const content = isJsonObject(value) ? value['content'] : undefined;
    return typeof content === 'string' ? content : null;
  }

  return {
    /**
     * Takes the next piece of a call's arguments. Null until it is known that there is a `content`; `code` is the file so far,
     * where it is time to show it again.
     */
    push(callId: string, text: string): { readonly input: JsonObject; readonly code: string | null } | null {
      let written = calls.get(callId);
      if (!written) {
        written = { json: createPartialJson(), shownLength: null };
        calls.set(callId, written);
      }
      written.json.push(text);
      const { value } = written.json;
      const code = contentOf(written);
      if (code === null || !isJsonObject(value)) return null;
      const { shownLength } = written;
      const due = shownLength === null || code.length - shownLength >= Math.max(MIN_STEP, shownLength / GROWTH);
      // An empty file says nothing: the last one is better to look at.
      if (!due || code === '') return { input: value, code: null };
      written.shownLength = code.length;
      return { input: value, code };
    },
    /** Forgets the call, and returns what it came to: null when there was no content. */
    end(callId: string): string | null {
      const written = calls.get(callId);
      calls.delete(callId);
      const code = written ? contentOf(written) : null;
      return code === '' ? null : code;
    },
  };
}
