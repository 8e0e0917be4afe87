import { parseJson } from '@treadle/core';
import { asText, parseObject } from '../shared/json-text.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Recognises delta events that say nothing new but their delta. */
export interface DeltaForm {
  /** Handles `data` if it has the learned form; false when it must be parsed. */
  apply(data: string): boolean;
  /** Learns the form of an event whose only effect was that its delta was handed to `add`. */
  learn(data: string, event: Fields, add: (piece: string) => void): void;
  /** False once every event turned out to be different; then there is nothing to prepare for `learn`. */
  isLearning(): boolean;
  /** What the last form was added to is over. */
  forget(): void;
}

/** Forms learned per response. A server whose events all differ costs this many attempts and no more. */
const LESSONS = 12;

/** Longer events are rare, and their parsing is not what costs. */
const LONGEST = 4096;

/** The inside of a JSON string: no quote but after a backslash, and no control character. */
const STRING = String.raw`[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*`;

/**
 * The fields that differ from one event to the next: the delta itself, and two that mean nothing to a reader. Each is
 * found in an event by what stands around its value, and stands in a form as a pattern. The stand-in shows that the
 * right place was found.
 */
const HOLES: readonly {
  readonly field: string;
  readonly find: RegExp;
  readonly pattern: string;
  readonly standIn: string | number;
}[] = [
  { field: 'delta', find: new RegExp(`("delta": ?")(${STRING})(?=")`), pattern: `(${STRING})`, standIn: 'marked' },
  {
    field: 'sequence_number',
    find: /("sequence_number": ?)(\d+)(?=[,}])/,
    pattern: String.raw`\d+`,
    standIn: 987_654_321,
  },
  { field: 'obfuscation', find: new RegExp(`("obfuscation": ?")(${STRING})(?=")`), pattern: STRING, standIn: 'marked' },
];

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);

/** A pattern for the events that are `event` but for those fields; undefined when their places can't be told. */
function formOf(data: string, event: Fields): RegExp | undefined {
  const places: { start: number; end: number; pattern: string; standIn: string }[] = [];
  const marked: Record<string, unknown> = { ...event };
  for (const { field, find, pattern, standIn } of HOLES) {
    if (event[field] === undefined) continue;
    const found = find.exec(data);
    if (found === null) return undefined;
    const start = found.index + (found[1]?.length ?? 0);
    places.push({ start, end: start + (found[2]?.length ?? 0), pattern, standIn: String(standIn) });
    marked[field] = standIn;
  }
  places.sort((a, b) => a.start - b.start);
  let source = '';
  let proof = '';
  let position = 0;
  for (const { start, end, pattern, standIn } of places) {
    source += escaped(data.slice(position, start)) + pattern;
    proof += data.slice(position, start) + standIn;
    position = end;
  }
  proof += data.slice(position);
  // The same words may stand elsewhere in the event: only with the right places does the proof say what was put in.
  if (JSON.stringify(parseObject(proof)) !== JSON.stringify(marked)) return undefined;
  return new RegExp(`^${source}${escaped(data.slice(position))}$`);
}

/**
 * Most events of a stream are the same JSON with another delta, another number and another padding. Once an event has
 * been parsed, its form is kept, and an event of that form differs from it in nothing else: so only its delta is read,
 * at a fraction of the cost of parsing it.
 */
export function createDeltaForm(): DeltaForm {
  let form: RegExp | undefined;
  let lessons = LESSONS;
  let addPiece: (piece: string) => void = () => undefined;

  const unescaped = (json: string): string | undefined => {
    try {
      return parseJson(`"${json}"`) as string;
    } catch {
      return undefined;
    }
  };

  return {
    apply(data) {
      if (form === undefined || data.length > LONGEST) return false;
      const json = form.exec(data)?.[1];
      if (json === undefined) return false;
      const piece = json.includes('\\') ? unescaped(json) : json;
      if (piece === undefined) return false;
      if (piece !== '') addPiece(piece);
      return true;
    },
    learn(data, event, add) {
      if (lessons <= 0 || data.length > LONGEST || asText(event['delta']) === undefined) return;
      lessons--;
      form = formOf(data, event);
      addPiece = add;
    },
    isLearning: () => lessons > 0,
    forget() {
      form = undefined;
    },
  };
}
