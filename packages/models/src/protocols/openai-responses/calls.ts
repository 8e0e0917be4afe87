import type { JsonObject, JsonSchema } from '@treadle/core';
import { asText, parseObject } from '../shared/json-text.ts';
import { withoutAddedNulls } from '../openai/strict.ts';
import type { DecoderSink } from '../shared/protocol.ts';
import { createTextRun } from '../shared/text-run.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A call of one of our tools while it arrives. */
export interface OpenCall {
  /** A piece of its arguments, or of the input of a custom tool. */
  add(piece: string): void;
  /** Takes in the finished item and ends the call. False when it was cut off and nothing but its status shows that. */
  end(item: Fields): boolean;
  /** Ends a call whose item was cut off, as far as it came. False when nothing would show that. */
  endCut(): boolean;
}

/** What an item says its arguments are. Some servers send them as an object instead of its text. */
const finalText = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : asText(value);

const restOf = (item: Fields, known: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([key]) => !known.includes(key))) as JsonObject;

const callIdOf = (item: Fields): string => asText(item['call_id']) ?? asText(item['id']) ?? '';

/** Whether cut off arguments could be taken for whole ones. No arguments at all are those of a tool without parameters. */
const looksWhole = (text: string): boolean => text.trim() === '' || parseObject(text) !== undefined;

/**
 * A call of a function. Deltas are shown as they come; the arguments that count are those at its end.
 *
 * @param index Its block's place in the message.
 * @param strict The parameters of the tool when it was declared strict.
 */
export function openFunctionCall(
  sink: DecoderSink,
  index: number,
  begin: Fields,
  strict: (name: string) => JsonSchema | undefined,
): OpenCall {
  const run = createTextRun();
  const name = asText(begin['name']) ?? '';
  sink.event({ type: 'tool_call_start', index, providerCallId: callIdOf(begin), name });

  const show = (text: string): void => {
    if (text !== '') sink.event({ type: 'tool_arguments_delta', index, text });
  };

  const close = (item: Fields, text: string): void => {
    const toolName = asText(item['name']) ?? name;
    const schema = strict(toolName);
    sink.event({
      type: 'block_end',
      index,
      block: {
        type: 'tool_call',
        providerCallId: callIdOf(item),
        name: toolName,
        argumentsText: schema === undefined ? text : withoutAddedNulls(text, schema),
        opaque: { item: restOf(item, ['call_id', 'name', 'arguments']) },
      },
    });
  };

  return {
    add: (piece) => show(run.add(piece)),
    end(item) {
      const final = finalText(item['arguments']);
      if (final !== undefined && final.startsWith(run.whole())) show(run.add(final.slice(run.whole().length)));
      show(run.rest());
      const text = final ?? run.whole();
      if (item['status'] === 'incomplete' && looksWhole(text)) return false;
      close(item, text);
      return true;
    },
    endCut() {
      show(run.rest());
      if (looksWhole(run.whole())) return false;
      close({ ...begin, status: 'incomplete' }, run.whole());
      return true;
    },
  };
}

/** Text as it stands inside the quotes of a JSON string. */
const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);

/** A call of a custom tool, whose input is any text: to us it is the argument `input`. */
export function openCustomCall(sink: DecoderSink, index: number, begin: Fields): OpenCall {
  const run = createTextRun();
  sink.event({
    type: 'tool_call_start',
    index,
    providerCallId: callIdOf(begin),
    name: asText(begin['name']) ?? '',
  });
  let opened = false;

  const show = (text: string): void => {
    const opening = opened ? '' : '{"input":"';
    opened = true;
    sink.event({ type: 'tool_arguments_delta', index, text: opening + quoted(text) });
  };

  return {
    add(piece) {
      const text = run.add(piece);
      if (text !== '') show(text);
    },
    end(item) {
      const final = finalText(item['input']);
      if (final !== undefined && final.startsWith(run.whole())) show(run.add(final.slice(run.whole().length)));
      show(run.rest());
      // Any text is a whole input, so nothing but its status tells one that was cut off.
      if (item['status'] === 'incomplete') return false;
      sink.event({ type: 'tool_arguments_delta', index, text: '"}' });
      sink.event({
        type: 'block_end',
        index,
        block: {
          type: 'tool_call',
          providerCallId: callIdOf(item),
          name: asText(item['name']) ?? asText(begin['name']) ?? '',
          argumentsText: JSON.stringify({ input: final ?? run.whole() }),
          opaque: { item: restOf(item, ['call_id', 'name', 'input']) },
        },
      });
      return true;
    },
    endCut: () => false,
  };
}
