import type { JsonObject, JsonValue, Usage } from '@treadle/core';
import { UNKNOWN_USAGE, type ModelWarning } from '@treadle/core/model';
import { finishEvent, startEvent, type Fields, type Stop } from '../shared/events.ts';
import { asCount, asObject, asText, parseObject } from '../shared/json-text.ts';
import { readOllamaError } from './error.ts';
import type { Decoder, DecoderSink } from '../shared/protocol.ts';
import { createBlockText, type TextRun } from '../shared/text-run.ts';

interface OpenRun {
  readonly index: number;
  readonly kind: 'text' | 'thinking';
  readonly run: TextRun;
}

/** `load` and `unload` are said of a model that was only loaded or unloaded: there is no answer. */
const STOP_REASONS: ReadonlyMap<string, Stop> = new Map<string, Stop>([
  ['stop', 'stop'],
  ['length', 'length'],
]);

/** What the last line tells of the work: counts of tokens, and durations in nanoseconds. */
const USAGE_FIELDS: readonly string[] = [
  'total_duration',
  'load_duration',
  'prompt_eval_count',
  'prompt_eval_duration',
  'eval_count',
  'eval_duration',
];

/** Fields that lines of all kinds have. */
const LINE_FIELDS: ReadonlySet<string> = new Set(['model', 'created_at', 'done']);

const usageOf = (line: Fields): JsonObject | undefined => {
  const counts: Record<string, JsonValue> = {};
  for (const field of USAGE_FIELDS) {
    const count = asCount(line[field]);
    if (count !== null) counts[field] = count;
  }
  return Object.keys(counts).length === 0 ? undefined : counts;
};

const readUsage = (raw: Fields): Usage => ({
  ...UNKNOWN_USAGE,
  input: asCount(raw['prompt_eval_count']),
  output: asCount(raw['eval_count']),
});

const truncated = (window: number): ModelWarning => ({
  code: 'prompt_truncated',
  message: `The prompt looks longer than the context of ${window} tokens, and Ollama cuts the beginning off. Set \`contextWindow\`.`,
});

/**
 * Reads one response of Ollama's chat API.
 *
 * @param windowExceeded The window, where the request looks longer than that.
 */
export function createOllamaDecoder(sink: DecoderSink, windowExceeded: () => number | undefined): Decoder {
  let open: OpenRun | undefined;
  let nextIndex = 0;
  let begun = false;
  let over = false;
  let called = false;

  const endRun = (): void => {
    if (open === undefined) return;
    const { index, kind, run } = open;
    open = undefined;
    sink.event({ type: 'block_end', index, block: { type: kind, text: run.end() } });
  };

  const addText = (kind: OpenRun['kind'], piece: unknown): void => {
    if (typeof piece !== 'string' || piece === '') return;
    if (open?.kind !== kind) {
      endRun();
      const index = nextIndex++;
      open = { index, kind, run: createBlockText(sink, `${kind}_delta`, index) };
    }
    open.run.add(piece);
  };

  /** Calls come whole; a server may give them ids or not, and any number. */
  const addCall = (value: unknown): void => {
    const call = asObject(value);
    const fn = asObject(call?.['function']);
    if (call === undefined || fn === undefined) return;
    endRun();
    called = true;
    const index = nextIndex++;
    const providerCallId = asText(call['id']) ?? '';
    const name = asText(fn['name']) ?? '';
    const given = fn['arguments'] ?? {};
    const argumentsText = typeof given === 'string' ? given : JSON.stringify(given);
    sink.event({ type: 'tool_call_start', index, providerCallId, name });
    if (argumentsText !== '') sink.event({ type: 'tool_arguments_delta', index, text: argumentsText });
    sink.event({ type: 'block_end', index, block: { type: 'tool_call', providerCallId, name, argumentsText } });
  };

  const finish = (line: Fields): void => {
    over = true;
    endRun();
    const rawStopReason = asText(line['done_reason']);
    const rawUsage = usageOf(line);
    // Older servers give no reason.
    const said = rawStopReason === undefined ? 'stop' : (STOP_REASONS.get(rawStopReason) ?? 'other');
    const stopReason = said === 'stop' && called ? 'tool_use' : said;
    const event = finishEvent(stopReason, { rawStopReason }, rawUsage, readUsage);
    const window = windowExceeded();
    const isCut = window !== undefined && event.usage.input !== null && event.usage.input <= window;
    sink.event(isCut ? { ...event, warnings: [truncated(window)] } : event);
  };

  const handle = (line: Fields): void => {
    const error = readOllamaError(line as JsonObject);
    if (error !== undefined) {
      over = true;
      return sink.error(error);
    }
    if (!begun) sink.event(startEvent({ model: line['model'] }));
    begun = true;
    const message = asObject(line['message']);
    if (message !== undefined) {
      addText('thinking', message['thinking']);
      addText('text', message['content']);
      const calls = message['tool_calls'];
      if (Array.isArray(calls)) for (const call of calls) addCall(call);
    } else if (line['done'] !== true) sink.unknown(Object.keys(line).find((key) => !LINE_FIELDS.has(key)) ?? 'line');
    if (line['done'] === true) finish(line);
  };

  return {
    frame(_name, data, whole) {
      if (over) return;
      const line = parseObject(data);
      if (line !== undefined) return handle(line);
      if (!whole) return;
      over = true;
      sink.malformed('The stream has a line that is not a JSON object.');
    },
    end() {
      // Only `done` ends this wire.
    },
    whole(body) {
      if (asObject(body['message']) === undefined || body['done'] !== true) return false;
      handle(body);
      return true;
    },
  };
}
