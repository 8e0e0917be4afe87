import type { JsonSchema } from '@treadle/core';
import type { Fields } from '../shared/events.ts';
import { asText, parseObject, without } from '../shared/json-text.ts';
import { withoutAddedNulls } from '../openai/strict.ts';
import type { DecoderSink } from '../shared/protocol.ts';
import { createTextRun } from '../shared/text-run.ts';

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

const callIdOf = (item: Fields): string => asText(item['call_id']) ?? asText(item['id']) ?? '';

/** What shows a custom tool's input as arguments before its first piece. */
const OPENING = '{"input":"';

/** Whether cut off arguments could be taken for whole ones. No arguments at all are those of a tool without parameters. */
const looksWhole = (text: string): boolean => text.trim() === '' || parseObject(text) !== undefined;

/**
 * A call of a tool while it arrives. Deltas are shown as they come; the arguments that count are those at its end.
 *
 * @param index Its block's place in the message.
 * @param kind `custom`: a call of a custom tool, whose input is any text: to us it is the argument `input`.
 * @param strict The parameters of the tool when it was declared strict.
 */
export function openCall(
  sink: DecoderSink,
  index: number,
  begin: Fields,
  kind: 'function' | 'custom',
  strict: (name: string) => JsonSchema | undefined,
): OpenCall {
  const field = kind === 'custom' ? 'input' : 'arguments';
  const name = asText(begin['name']) ?? '';
  const show = (text: string): void => sink.event({ type: 'tool_arguments_delta', index, text });
  let opened = false;
  const run = createTextRun((text) => {
    if (kind === 'function') return show(text);
    show((opened ? '' : OPENING) + JSON.stringify(text).slice(1, -1));
    opened = true;
  });
  sink.event({ type: 'tool_call_start', index, providerCallId: callIdOf(begin), name });

  const close = (item: Fields, text: string): void => {
    const toolName = asText(item['name']) ?? name;
    const schema = kind === 'custom' ? undefined : strict(toolName);
    if (kind === 'custom') show(`${opened ? '' : OPENING}"}`);
    const argumentsText = kind === 'custom' ? JSON.stringify({ input: text }) : text;
    sink.event({
      type: 'block_end',
      index,
      block: {
        type: 'tool_call',
        providerCallId: callIdOf(item),
        name: toolName,
        argumentsText: schema === undefined ? argumentsText : withoutAddedNulls(argumentsText, schema),
        opaque: { item: without(item, ['call_id', 'name', field]) },
      },
    });
  };

  /** Whether nothing but its status tells that this text was cut off. Any text is a whole input. */
  const seemsWhole = (text: string): boolean => kind === 'custom' || looksWhole(text);

  return {
    add: (piece) => run.add(piece),
    end(item) {
      const final = finalText(item[field]);
      if (final?.startsWith(run.whole()) === true) run.add(final.slice(run.whole().length));
      const shown = run.end();
      const text = final ?? shown;
      if (item['status'] === 'incomplete' && seemsWhole(text)) return false;
      close(item, text);
      return true;
    },
    endCut() {
      if (kind === 'custom') return false;
      const text = run.end();
      if (looksWhole(text)) return false;
      close({ ...begin, status: 'incomplete' }, text);
      return true;
    },
  };
}
