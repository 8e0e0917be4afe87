import { isJsonObject, parseJson } from '../../json.ts';
import type { ModelEvent, ModelEventIterator, ModelToolCall } from '../../model/model.ts';
import { CALL_TOOL } from '../../tools/tool-search-names.ts';

type CallStart = Extract<ModelEvent, { readonly type: 'tool_call_start' }>;

/** A call of `call_tool` that arrives: nobody is told of it before it is known which tool it is for. */
interface HeldCall {
  readonly start: CallStart;
  text: string;
}

const PROBLEM =
  'call_tool takes the name of a tool and its arguments: {"name": "…", "arguments": {…}}. ' +
  'Find the name and the inputSchema with search_tools.';

/** The events of a reply in which each call of `call_tool` is a call of the tool that it names. */
export function unwrapCalls(inner: ModelEventIterator): ModelEventIterator {
  const held = new Map<number, HeldCall>();
  /** Events that came out of the last one and haven't been asked for. */
  const due: ModelEvent[] = [];

  function take(event: ModelEvent): void {
    const call = 'index' in event ? held.get(event.index) : undefined;
    if (event.type === 'tool_call_start' && event.name === CALL_TOOL) {
      held.set(event.index, { start: event, text: '' });
    } else if (call && event.type === 'tool_arguments_delta') {
      call.text += event.text;
    } else if (event.type === 'block_end' && event.block.type === 'tool_call' && event.block.name === CALL_TOOL) {
      held.delete(event.index);
      const block = unwrapped(event.block);
      const { index } = event;
      due.push(
        { type: 'tool_call_start', index, providerCallId: block.providerCallId, name: block.name },
        { type: 'tool_arguments_delta', index, text: block.argumentsText },
        { ...event, block },
      );
    } else {
      if (event.type === 'start') held.clear();
      if (event.type === 'finish' || event.type === 'error') cutOff();
      due.push(event);
    }
  }

  /** Calls that were cut off are seen as such by whoever reads on. */
  function cutOff(): void {
    for (const { start, text } of held.values()) {
      due.push(start, { type: 'tool_arguments_delta', index: start.index, text });
    }
    held.clear();
  }

  return {
    ready() {
      for (let event = due.shift(); ; event = due.shift()) {
        if (event) return event;
        const next = inner.ready?.();
        if (next === undefined) return undefined;
        take(next);
      }
    },
    async next() {
      for (let event = due.shift(); ; event = due.shift()) {
        if (event) return { done: false, value: event };
        const next = await inner.next();
        if (next.done === true) return next;
        take(next.value);
      }
    },
    return: async () => (await inner.return?.()) ?? { done: true, value: undefined },
  };
}

function unwrapped(block: ModelToolCall): ModelToolCall {
  const said = block.problem === undefined ? parsed(block.argumentsText) : undefined;
  // What can't be read is answered as such.
  if (said === undefined) return block;
  const { name, arguments: given = {} } = isJsonObject(said) ? said : {};
  const args = typeof given === 'string' ? parsed(given) : given;
  if (typeof name !== 'string' || name === CALL_TOOL || !isJsonObject(args))
    return { ...block, problem: 'missing_field', problemMessage: PROBLEM };
  return { ...block, name, argumentsText: JSON.stringify(args) };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
