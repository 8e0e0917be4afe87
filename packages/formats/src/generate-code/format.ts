import type { JsonObject, JsonValue, TreadleEvent } from '@treadle/core';
import { resultText, runEncoder, type Encoder, type Frame, type ReplyPart, type StreamFormat } from '@treadle/server';
import { createCodePreview } from './preview.ts';
import { callSummary, extractHtml, resultSummary, shortHash, updatedContentOf } from './text.ts';

/** The code a WebSocket of this protocol is closed with after a fatal `error`. */
export const GENERATE_CODE_ERROR = 4332;

/** The code with which a client closes it to cancel what is generated. */
export const GENERATE_CODE_CANCELLED = 4333;

/** What messages of the protocol are about. */
export type GenerateCodeType =
  | 'chunk'
  | 'status'
  | 'setCode'
  | 'error'
  | 'variantComplete'
  | 'variantError'
  | 'variantCount'
  | 'variantModels'
  | 'thinking'
  | 'assistant'
  | 'toolStart'
  | 'toolResult';

/** A message of the protocol, as JSON. */
export interface GenerateCodeMessage {
  readonly type: GenerateCodeType;
  readonly variantIndex: number;
  readonly value?: string;
  readonly data?: JsonObject;
  readonly eventId?: string;
}

/** Options of {@link generateCodeFormat}. */
export interface GenerateCodeOptions {
  /** Which of the variants the session is, from 0. */
  readonly variantIndex: number;
  /** The file before the run; null, the default, for none. */
  readonly startCode?: string | null;
}

/** A message as a frame. */
const generateCodeFrame = (message: GenerateCodeMessage): Frame => ({ data: JSON.stringify(message) });

/** What is told of all variants before anything of one: how many there are. */
export const variantCount = (count: number): Frame =>
  generateCodeFrame({ type: 'variantCount', variantIndex: 0, value: String(count) });

/** Which models make them. Follows the first `status` of each. */
export const variantModels = (models: readonly string[]): Frame =>
  generateCodeFrame({ type: 'variantModels', variantIndex: 0, data: { models } });

/** What is told before the socket is closed with {@link GENERATE_CODE_ERROR}. */
export const fatalError = (message: string): Frame =>
  generateCodeFrame({ type: 'error', variantIndex: 0, value: message });

/**
 * One variant of the `/generate-code` WebSocket protocol: a model that writes one file with `create_file` and `edit_file`, seen
 * while it is written. A socket carries several variants, each a session with an encoder of its own; `variantCount` comes
 * before all of them, and what `begin` gives of each before the events of any.
 *
 * The file is what successful calls leave in `details.updatedContent` of their results; without one it is the HTML in the last
 * answer. Every `toolStart` has a `toolResult`, also where the call was never made, and the last message is exactly one
 * `variantComplete` or `variantError`. Ids of texts are made of the message's, so they are the same whoever encodes them.
 */
export const generateCodeFormat = (options: GenerateCodeOptions): StreamFormat => ({
  name: 'generate-code',
  contentType: 'application/json',
  ids: false,
  encoder: () => generateCodeEncoder(options),
});

function generateCodeEncoder({ variantIndex, startCode = null }: GenerateCodeOptions): Encoder {
  const preview = createCodePreview();
  /** Calls that were told of and have no result yet. */
  const started = new Map<string, { readonly name: string; readonly messageId: string }>();
  /** The file, as calls that succeeded left it. */
  let code = startCode;
  /** What the client shows. */
  let shown = startCode;
  let answer = '';

  const told = (
    type: GenerateCodeType,
    rest: { readonly value?: string; readonly data?: JsonObject; readonly eventId?: string },
  ): Frame => generateCodeFrame({ type, variantIndex, ...rest });

  function setCode(value: string): Frame {
    shown = value;
    return told('setCode', { value });
  }

  /** The file as calls left it, where the client shows another one. */
  const lastCode = (): Frame[] => (code === null || code === shown ? [] : [setCode(code)]);

  function startTool(callId: string, messageId: string, name: string, input: JsonValue | undefined): Frame[] {
    if (started.has(callId)) return [];
    started.set(callId, { name, messageId });
    return [told('toolStart', { data: { name, input: callSummary(name, input) }, eventId: callId })];
  }

  function endTool(callId: string, name: string, output: JsonValue, ok: boolean): Frame {
    started.delete(callId);
    return told('toolResult', { data: { name, output, ok }, eventId: callId });
  }

  function reply(part: ReplyPart): Frame[] {
    switch (part.type) {
      case 'block_delta': {
        if (part.kind === 'call') return argumentsGrew(part);
        const kind = part.kind === 'text' ? 'assistant' : 'thinking';
        const hash = shortHash(`${part.messageId}:${part.index}`);
        return [told(kind, { value: part.text, eventId: `${kind}-${variantIndex}-${hash}` })];
      }
      case 'block_ended': {
        if (part.kind !== 'call') return [];
        const last = preview.end(part.callId);
        return last === null || last === shown ? [] : [setCode(last)];
      }
      case 'reply_ended':
        answer = part.message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
        return [];
      case 'reply_void':
        return takenBack(part.messageId);
      default:
        return [];
    }
  }

  /** Only a new file can be shown while it is written; of an edit, the old text comes first. */
  function argumentsGrew(part: Extract<ReplyPart, { type: 'block_delta'; kind: 'call' }>): Frame[] {
    if (part.toolName !== 'create_file') return [];
    const { callId, messageId, text } = part;
    const seen = preview.push(callId, text);
    if (seen === null) return [];
    const start = startTool(callId, messageId, part.toolName, seen.input);
    return seen.code === null ? start : [...start, setCode(seen.code)];
  }

  /** The provider failed in the middle of a reply. What it showed stays until there is something better. */
  function takenBack(messageId: string): Frame[] {
    const frames: Frame[] = [];
    for (const [callId, call] of started) {
      if (call.messageId !== messageId) continue;
      preview.end(callId);
      frames.push(endTool(callId, call.name, { error: 'The model broke off and begins again.' }, false));
    }
    return [...frames, ...lastCode()];
  }

  function ofRun(event: TreadleEvent): Frame[] {
    switch (event.type) {
      case 'tool_started':
        return event.skipped === true ? [] : startTool(event.callId, '', event.toolName, event.arguments);
      case 'tool_ended':
      case 'tool_call_rejected': {
        if (event.callId === '') return [];
        const start = startTool(event.callId, '', event.toolName, {});
        const isDone = event.type === 'tool_ended';
        const ok = isDone && !event.isError;
        if (ok) code = updatedContentOf(event.details) ?? code;
        const text = resultText(event.content);
        const output = isDone ? resultSummary(text, event.details) : { error: text };
        return [...start, ...lastCode(), endTool(event.callId, event.toolName, output, ok)];
      }
      case 'run_paused':
        return failed(`The variant waits for ${event.pending.map(({ toolName }) => toolName).join(', ')}.`);
      case 'run_ended':
        return event.status === 'completed'
          ? completed()
          : failed(event.message ?? `The run ended as ${event.status}.`);
      default:
        return [];
    }
  }

  /** The file; without one, the page that the model wrote into its answer. Told even where it is shown already. */
  function completed(): Frame[] {
    const final = code ?? extractHtml(answer);
    if (final === null) return failed('The model wrote no page.');
    return [setCode(final), told('variantComplete', { value: 'The variant is complete.' })];
  }

  function failed(message: string): Frame[] {
    const frames = [...started].map(([callId, { name }]) => endTool(callId, name, { error: message }, false));
    if (code !== null) frames.push(setCode(code));
    return [...frames, told('variantError', { value: message })];
  }

  const words = {
    begin: () => [],
    reply,
    event: ofRun,
    beside(event: TreadleEvent): Frame[] | undefined {
      return event.type === 'status' && event.status !== null ? [told('status', { value: event.status })] : undefined;
    },
    cut: (_: unknown, message: string) => failed(message),
  };
  const encoder = runEncoder<Frame>(words, (frame) => frame);
  return {
    ...encoder,
    begin(start) {
      encoder.begin(start);
      return [told('status', { value: 'Generating code…' })];
    },
  };
}
