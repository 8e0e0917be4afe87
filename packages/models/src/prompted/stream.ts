import type { StopReason } from '@treadle/core';
import type { ModelBlock, ModelEvent, ModelToolCall } from '@treadle/core/model';
import type { BodyProblem, CallNames, SchemaOf } from './body.ts';
import { LOCAL_SERVER, toolNameOf } from './names.ts';
import { PROMPTED_TEXT } from './rewrite.ts';
import { elementScanner, type ScannedCall, type ScannedFailure, type Scanner } from './scanner.ts';

export interface StreamOptions {
  readonly several: boolean;
  readonly asThinking: boolean;
  readonly missingServer: 'reject' | 'local';
  readonly schemaOf: SchemaOf;
}

type TextBlock = Extract<ModelBlock, { type: 'text' }>;

/** Characters that are kept of a call that can't be read. */
const MAX_KEPT = 20_000;
const MAX_NAME = 64;

/** The stream of a model as one with tool calls in it. */
export async function* promptedStream(
  source: AsyncIterable<ModelEvent>,
  options: StreamOptions,
): AsyncGenerator<ModelEvent> {
  let made: ModelEvent[] = [];
  const newReply = () => promptedReply(options, (event) => made.push(event));
  let reply = newReply();
  for await (const event of source) {
    if (event.type === 'start') {
      reply = newReply();
      made.push(event);
    } else reply.take(event);
    const ready = made;
    made = [];
    yield* ready;
  }
}

/** One message while it streams: what of it is text, and what is calls. */
function promptedReply(
  options: StreamOptions,
  emit: (event: ModelEvent) => void,
): { take(event: Exclude<ModelEvent, { type: 'start' }>): void } {
  const { several, asThinking, missingServer, schemaOf } = options;
  /** Indexes of blocks that are no text, as the model counts them and as we do. */
  const indexes = new Map<number, number>();
  let next = 0;
  /** The open text, and how much the model's own open text block has brought. */
  let text: { readonly index: number; text: string } | null = null;
  let received = '';
  let callIndex = -1;
  let calls = 0;

  const indexOf = (index: number): number => {
    const own = indexes.get(index) ?? next++;
    indexes.set(index, own);
    return own;
  };

  const over = (): boolean => !several && calls > 0;

  function addText(piece: string): void {
    if (over()) return;
    text ??= { index: next++, text: '' };
    text.text += piece;
    emit({ type: asThinking ? 'thinking_delta' : 'text_delta', index: text.index, text: piece });
  }

  /** The open text is over. `block` is the model's own, whose citations count only for the same text. */
  function closeText(block?: TextBlock): void {
    if (!text) return;
    const { index, text: said } = text;
    text = null;
    const same = block?.text === said ? block : { type: 'text' as const, text: said };
    emit({
      type: 'block_end',
      index,
      block: asThinking ? { type: 'thinking', text: said, opaque: PROMPTED_TEXT } : same,
    });
  }

  function startCall({ server = LOCAL_SERVER, tool = '' }: CallNames): string {
    closeText();
    const name = toolNameOf({ server, tool: tool === '' ? 'tool' : tool }).slice(0, MAX_NAME);
    if (callIndex < 0) {
      callIndex = next++;
      emit({ type: 'tool_call_start', index: callIndex, providerCallId: '', name });
    }
    return name;
  }

  function endCall(names: CallNames, call: Pick<ModelToolCall, 'argumentsText' | 'problem' | 'problemMessage'>): void {
    const name = startCall(names);
    emit({ type: 'block_end', index: callIndex, block: { type: 'tool_call', providerCallId: '', name, ...call } });
    callIndex = -1;
    calls += 1;
  }

  function readCall({ names, argumentsText, raw }: ScannedCall): void {
    if (over()) return;
    const missing =
      names.tool === undefined || names.tool === ''
        ? 'tool_name'
        : names.server === undefined && missingServer === 'reject'
          ? 'server_name'
          : null;
    if (missing !== null) {
      return endCall(names, {
        argumentsText: kept(raw),
        problem: 'missing_field',
        problemMessage: `Not executed: the call has no ${missing}.`,
      });
    }
    const wasNamed = callIndex >= 0;
    startCall(names);
    if (!wasNamed && argumentsText !== '') {
      emit({ type: 'tool_arguments_delta', index: callIndex, text: argumentsText });
    }
    endCall(names, { argumentsText });
  }

  function readFailure({ names, problem, raw }: ScannedFailure): void {
    if (over()) return;
    endCall(names, { argumentsText: kept(raw), problem: problem.reason, problemMessage: words(problem) });
  }

  const scanner: Scanner = elementScanner(
    {
      text: addText,
      named: (names) => {
        if (!over()) startCall(names);
      },
      argumentsPiece: (piece) => {
        if (!over()) emit({ type: 'tool_arguments_delta', index: callIndex, text: piece });
      },
      call: readCall,
      failed: readFailure,
    },
    schemaOf,
  );

  function endText(block: TextBlock): void {
    // A wire that was answered at once may bring a block without its deltas.
    if (received === '' && block.text !== '' && !over()) scanner.push(block.text);
    received = '';
    scanner.flush();
    closeText(block);
  }

  return {
    take(event) {
      switch (event.type) {
        case 'text_delta':
          received = event.text === '' ? received : event.text;
          // What follows the only call that counts is not even looked at.
          if (!over()) scanner.push(event.text);
          return;
        case 'block_end':
          if (event.block.type === 'text') return endText(event.block);
          emit({ ...event, index: indexOf(event.index) });
          return;
        case 'finish':
          if (!over()) scanner.end(isCut(event.stopReason));
          closeText();
          emit(calls > 0 && ENDS_BY_ITSELF.has(event.stopReason) ? { ...event, stopReason: 'tool_use' } : event);
          return;
        case 'error':
          emit(event);
          return;
        default:
          emit({ ...event, index: indexOf(event.index) });
      }
    },
  };
}

const ENDS_BY_ITSELF: ReadonlySet<StopReason> = new Set(['stop', 'other', 'tool_use']);

const isCut = (stopReason: StopReason): boolean =>
  stopReason === 'length' || stopReason === 'refusal' || stopReason === 'content_filter';

const kept = (raw: string): string =>
  raw.length > MAX_KEPT ? `${raw.slice(0, MAX_KEPT)}… [${raw.length - MAX_KEPT} more characters]` : raw;

function words(problem: BodyProblem | ScannedFailure['problem']): string {
  if (problem.reason === 'cut_off') {
    return 'Not executed: the reply was cut off before the call was complete. Send it again, with shorter arguments.';
  }
  const form = problem.reason === 'invalid_xml' ? 'XML' : 'JSON';
  return `Not executed: the call could not be read as ${form} (${problem.message}).`;
}
