import { deltaText, FINAL_ANSWER, fileContent, pieces, WAIT_MS, type ScenarioKind } from '../scenarios.ts';

export interface ReplyCall {
  readonly id: string;
  readonly name: string;
  /** The JSON of its arguments, cut as a model streams it. */
  readonly pieces: readonly string[];
}

/** What a model says in one turn, before it is written for a wire. */
export type Reply =
  | { readonly type: 'text'; readonly pieces: readonly string[] }
  | { readonly type: 'calls'; readonly calls: readonly ReplyCall[] };

const call = (index: number, name: string, args: object): ReplyCall => ({
  id: `call_${String(index).padStart(20, '0')}`,
  name,
  pieces: pieces(JSON.stringify(args)),
});

/** The reply to a request that carries so many tool results. */
export function replyTo(kind: ScenarioKind, size: number, results: number): Reply {
  if (kind === 'text') return { type: 'text', pieces: Array.from({ length: size }, (_, index) => deltaText(index)) };
  const calls = callsOf(kind, size, results);
  return calls.length > 0 ? { type: 'calls', calls } : { type: 'text', pieces: pieces(FINAL_ANSWER) };
}

function callsOf(kind: Exclude<ScenarioKind, 'text'>, size: number, results: number): ReplyCall[] {
  if (kind === 'turns') {
    if (results >= size) return [];
    return [call(results, 'look_up', { query: `entry ${results} of the list`, page: results })];
  }
  if (results > 0) return [];
  if (kind === 'argument') return [call(0, 'write_file', { path: 'src/steps.ts', content: fileContent(size) })];
  return Array.from({ length: size }, (_, index) => call(index, 'wait', { ms: WAIT_MS, index }));
}
