import type { JsonObject, JsonValue, Usage } from '@treadle/core';
import type { ModelBlock } from '@treadle/core/model';
import { defined } from '@treadle/core/json';
import { createPartialArguments, type PartialArguments } from './arguments.ts';
import { DESCRIPTION_KIND } from './content.ts';
import { readGeminiError } from './error.ts';
import { geminiBlock, ProviderCallIds } from './parts.ts';
import { finishEvent, startEvent, withCounts, type Fields, type Stop } from '../shared/events.ts';
import { asCount, asObject, asText, isJson, parseObject } from '../shared/json-text.ts';
import type { Decoder, DecoderSink } from '../shared/protocol.ts';
import { createBlockText, type TextRun } from '../shared/text-run.ts';

/** Text or reasoning that is being received. One with a signature is a part of its own and takes no more. */
interface OpenText {
  readonly index: number;
  readonly kind: 'text' | 'thinking';
  readonly run: TextRun;
  readonly signature: string | undefined;
}

/** A call that is being received. */
interface OpenCall {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly args: PartialArguments;
  signature: string | undefined;
}

/** Endings that are no `other`. Whatever blocks content must not look like a success. */
const STOP_REASONS: ReadonlyMap<string, Stop> = new Map<string, Stop>([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['CONTINUATION', 'length'],
  ['SAFETY', 'content_filter'],
  ['RECITATION', 'content_filter'],
  ['BLOCKLIST', 'content_filter'],
  ['PROHIBITED_CONTENT', 'content_filter'],
  ['SPII', 'content_filter'],
  ['MODEL_ARMOR', 'content_filter'],
  ['IMAGE_SAFETY', 'content_filter'],
  ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
  ['IMAGE_RECITATION', 'content_filter'],
]);

/** What a candidate says about its content, kept with the text it is about. */
const SOURCES = ['groundingMetadata', 'citationMetadata', 'urlContextMetadata'] as const;

/** Fields that events have; one with none of them, and others, is of a kind that is newer than this code. */
const EVENT_FIELDS: ReadonlySet<string> = new Set([
  'candidates',
  'promptFeedback',
  'usageMetadata',
  'modelVersion',
  'responseId',
  'createTime',
  'modelStatus',
]);
const sum = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : (a ?? 0) + (b ?? 0);

/** The prompt includes what came from the cache; the candidates don't include the thoughts. */
const readUsage = (raw: Fields): Usage => {
  const prompt = sum(asCount(raw['promptTokenCount']), asCount(raw['toolUsePromptTokenCount']));
  const cacheRead = asCount(raw['cachedContentTokenCount']);
  const reasoning = asCount(raw['thoughtsTokenCount']);
  return {
    input: prompt === null ? null : prompt - (cacheRead ?? 0),
    output: sum(asCount(raw['candidatesTokenCount']), reasoning),
    cacheRead,
    cacheWrite: null,
    reasoning,
  };
};

const signed = (signature: string | undefined): JsonObject | undefined =>
  signature === undefined ? undefined : { thoughtSignature: signature };

const fieldsOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map((item: unknown) => asObject(item)).filter((item) => item !== undefined) : [];

/** Reads one response of the Gemini wire. `prefix` begins the ids of calls that come without one. */
export function createGeminiDecoder(sink: DecoderSink, prefix: string): Decoder {
  const providerCalls = new ProviderCallIds(prefix);
  let nextIndex = 0;
  let callCount = 0;
  let begun = false;
  let over = false;
  let text: OpenText | undefined;
  let call: OpenCall | undefined;
  let usage: Fields | undefined;
  let rawStopReason: string | undefined;
  let blockReason: string | undefined;
  let blockMessage: string | undefined;
  let sources: Record<string, JsonValue> | undefined;

  const endBlock = (index: number, block: ModelBlock): void => sink.event({ type: 'block_end', index, block });

  const closeText = (citations?: readonly JsonValue[]): void => {
    if (text === undefined) return;
    const { index, kind, run, signature } = text;
    text = undefined;
    const said = run.end();
    if (kind === 'thinking') return endBlock(index, { type: 'thinking', text: said, ...defined({ signature }) });
    endBlock(index, { type: 'text', text: said, ...defined({ citations, opaque: signed(signature) }) });
  };

  /**
   * Ends the open call. One whose end wasn't said is whole if its arguments are and nothing cut the message: some servers
   * leave the last part out. Otherwise its text stays open, so that nobody can take it for whole.
   */
  const closeCall = (said: boolean): void => {
    if (call === undefined) return;
    const { index, id, name, args, signature } = call;
    call = undefined;
    const { rest, text: json } = args.close();
    const isWhole = !args.isIncomplete() && (said || rawStopReason === undefined || rawStopReason === 'STOP');
    if (isWhole && rest !== '') sink.event({ type: 'tool_arguments_delta', index, text: rest });
    endBlock(index, {
      type: 'tool_call',
      providerCallId: id,
      name,
      argumentsText: isWhole ? json : args.unclosed(),
      ...defined({ opaque: signed(signature) }),
    });
  };

  const textPart = (part: Fields, piece: string): void => {
    const kind = part['thought'] === true ? 'thinking' : 'text';
    const signature = asText(part['thoughtSignature']);
    if (text !== undefined && (text.kind !== kind || text.signature !== undefined || signature !== undefined))
      closeText();
    if (text === undefined) {
      const index = nextIndex++;
      text = { index, kind, run: createBlockText(sink, `${kind}_delta`, index), signature };
    }
    text.run.add(piece);
  };

  const startCall = (name: string, id: string | undefined): OpenCall => {
    closeCall(false);
    closeText();
    const made = { index: nextIndex++, id: id ?? `${prefix}-fc-${callCount}`, name, signature: undefined };
    callCount++;
    sink.event({ type: 'tool_call_start', index: made.index, providerCallId: made.id, name });
    return { ...made, args: createPartialArguments() };
  };

  const callPart = (part: Fields, made: Fields): void => {
    const name = asText(made['name']);
    const id = asText(made['id']);
    const goesOn = call !== undefined && (name === undefined || (id !== undefined && id === call.id));
    // The end of a call that is over already.
    if (!goesOn && name === undefined) return;
    const open = goesOn && call !== undefined ? call : startCall(name ?? '', id);
    call = open;
    open.signature ??= asText(part['thoughtSignature']);
    const args = asObject(made['args']);
    const shown = (args === undefined ? '' : open.args.assign(args)) + open.args.add(made['partialArgs']);
    if (shown !== '') sink.event({ type: 'tool_arguments_delta', index: open.index, text: shown });
    if (made['willContinue'] === true) return;
    open.args.endString();
    closeCall(true);
  };

  const addPart = (part: Fields): void => {
    const made = asObject(part['functionCall']);
    if (made !== undefined) return callPart(part, made);
    const piece = part['text'];
    // A part that says nothing, as the last one often does.
    if (piece === '' && part['thoughtSignature'] === undefined) return;
    closeCall(false);
    if (typeof piece === 'string') return textPart(part, piece);
    closeText();
    if (Object.keys(part).length === 0) return;
    const block = geminiBlock(part, providerCalls);
    if (block.type === 'provider_block' && part['thought'] !== true) sink.unknown(block.kind);
    endBlock(nextIndex++, block);
  };

  const addSources = (candidate: Fields): void => {
    for (const field of SOURCES) {
      const found = asObject(candidate[field]) as JsonObject | undefined;
      if (found === undefined || Object.keys(found).length === 0) continue;
      sources ??= {};
      sources[field] = { ...(sources[field] as JsonObject | undefined), ...found };
    }
  };

  const handle = (event: Fields): void => {
    const error = readGeminiError(event as JsonObject);
    if (error !== undefined) {
      over = true;
      return sink.error(error);
    }
    if (!begun) sink.event(startEvent({ model: event['modelVersion'], responseId: event['responseId'] }));
    begun = true;
    usage = withCounts(usage, event['usageMetadata']);
    const feedback = asObject(event['promptFeedback']);
    blockReason = asText(feedback?.['blockReason']) ?? blockReason;
    blockMessage = asText(feedback?.['blockReasonMessage']) ?? blockMessage;
    // Others are asked for by nobody, and would mix with the first.
    const candidate = fieldsOf(event['candidates']).find(({ index }) => index === undefined || index === 0);
    if (candidate === undefined) {
      const type = Object.keys(event).find((key) => !EVENT_FIELDS.has(key));
      if (type !== undefined) sink.unknown(asText(event['type']) ?? type);
      return;
    }
    rawStopReason = asText(candidate['finishReason']) ?? rawStopReason;
    for (const part of fieldsOf(asObject(candidate['content'])?.['parts'])) addPart(part);
    addSources(candidate);
  };

  const stopReason = (): Stop => {
    const reason = STOP_REASONS.get(rawStopReason ?? '') ?? (blockReason === undefined ? 'other' : 'content_filter');
    return reason === 'stop' && callCount > 0 ? 'tool_use' : reason;
  };

  const finish = (): void => {
    over = true;
    closeCall(false);
    const citations = sources === undefined ? undefined : [sources];
    if (citations !== undefined && text?.kind !== 'text') {
      closeText();
      endBlock(nextIndex++, { type: 'provider_block', kind: DESCRIPTION_KIND, raw: { ...sources } });
    } else closeText(citations);
    const event = finishEvent(stopReason(), { rawStopReason: rawStopReason ?? blockReason }, usage, readUsage);
    const blocked = blockMessage && {
      code: 'prompt_blocked',
      message: `The provider blocked the prompt: ${blockMessage}`,
    };
    sink.event(blocked ? { ...event, warnings: [blocked] } : event);
  };

  return {
    frame(_name, data, whole) {
      if (over) return;
      const event = parseObject(data);
      if (event !== undefined) return handle(event);
      if (!whole || data.trim() === '[DONE]' || isJson(data)) return;
      over = true;
      sink.malformed('The stream has an event that is not JSON.');
    },
    end() {
      // Usage and more parts may follow a finish reason, so only the end of the body ends this wire.
      if (!over && (rawStopReason !== undefined || blockReason !== undefined)) finish();
    },
    whole(body) {
      const list = Array.isArray(body['responses']) ? fieldsOf(body['responses']) : [body];
      if (!list.some((item) => Array.isArray(item['candidates']) || asObject(item['promptFeedback']) !== undefined))
        return false;
      for (const item of list) if (!over) handle(item);
      if (!over) finish();
      return true;
    },
    usage: () => usage && readUsage(usage),
  };
}
