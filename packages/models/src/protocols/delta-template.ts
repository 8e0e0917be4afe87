/** Recognises events that repeat the one before in everything but one text. */
export interface DeltaTemplate {
  /** Handles `data` if it has the learned form; false when it must be parsed. */
  apply(data: string): boolean;
  /**
   * Learns the form of an event whose only effect was to add `piece`.
   *
   * @param read The text at the piece's place in an event, for checking that the place was found.
   * @param add What the piece was added with.
   */
  learn(data: string, piece: string, read: (data: string) => unknown, add: (piece: string) => void): void;
  /**
   * Whether a form is worth learning now: not in the first events of a response, for a lesson costs more than parsing
   * the few that a short one has, and not once every event turned out to be different.
   */
  readonly learns: boolean;
  /** What the last form was added to is over. */
  forget(): void;
}

/** Events of a response that are parsed before the first lesson. */
const PATIENCE = 8;

/** Forms learned per response. A server whose events all differ costs this many attempts and no more. */
const LESSONS = 12;

/** In place of the piece, when a form is checked. Nothing in it is escaped in JSON. */
const MARKER = 'treadle-marks-the-place';

/**
 * Most events of a stream are the same JSON with another piece of text in it. Once an event has been parsed, the
 * texts before and after its piece are kept; an event that begins and ends with them differs from it in that string
 * alone, so the string alone is parsed. That is about a third of the cost of parsing the event.
 *
 * It is exact: a string that has no quote or backslash is its own JSON, and any other is given to `JSON.parse`, which
 * refuses it if a quote in it ends the string early.
 */
export function createDeltaTemplate(): DeltaTemplate {
  let before = '';
  let after = '';
  let parsed = 0;
  let lessons = LESSONS;
  let addPiece: ((piece: string) => void) | undefined;

  const unescaped = (json: string): string | undefined => {
    try {
      return JSON.parse(`"${json}"`) as string;
    } catch {
      return undefined;
    }
  };

  return {
    apply(data) {
      if (addPiece === undefined) {
        parsed++;
        return false;
      }
      const end = data.length - after.length;
      // Comparing slices compares memory; `startsWith` and `endsWith` go character by character and cost ten times that.
      if (end < before.length || data.slice(end) !== after || data.slice(0, before.length) !== before) return false;
      const json = data.slice(before.length, end);
      const piece = /["\\\p{Cc}]/u.test(json) ? unescaped(json) : json;
      if (piece === undefined) return false;
      addPiece(piece);
      return true;
    },
    learn(data, piece, read, add) {
      if (lessons <= 0) return;
      lessons--;
      addPiece = undefined;
      const json = JSON.stringify(piece);
      const at = data.lastIndexOf(json);
      if (at === -1) return;
      const head = data.slice(0, at + 1);
      const tail = data.slice(at + json.length - 1);
      // The same text may stand elsewhere in the event: only the place whose change changes the piece is the right one.
      if (read(head + MARKER + tail) !== MARKER) return;
      before = head;
      after = tail;
      addPiece = add;
    },
    get learns() {
      return lessons > 0 && parsed > PATIENCE;
    },
    forget() {
      addPiece = undefined;
    },
  };
}
