import type { JsonValue } from '../../json.ts';
import type { Model, ModelBlock, ModelEvent } from '../../model/model.ts';
import type { Redactor, RedactorStream } from './redactor.ts';

type Delta = Extract<ModelEvent, { readonly type: 'text_delta' | 'thinking_delta' | 'tool_arguments_delta' }>;

/** A model whose stream is redacted. Deltas that may be the beginning of a secret come with a later one. */
export function guardModel(model: Model, redactor: Redactor): Model {
  return {
    ...model,
    stream(request, signal) {
      const events = model.stream(request, signal);
      return { [Symbol.asyncIterator]: () => guardStream(events[Symbol.asyncIterator](), redactor) };
    },
  };
}

/** What a delta of a block holds back, and as what it comes when the block ends. */
interface OpenBlock {
  readonly stream: RedactorStream;
  readonly type: Delta['type'];
}

function guardStream(inner: AsyncIterator<ModelEvent>, redactor: Redactor): AsyncIterator<ModelEvent> {
  const blocks = new Map<number, OpenBlock>();
  /** Events that came out of the last one and haven't been asked for. */
  const ready: ModelEvent[] = [];

  function take(event: ModelEvent): void {
    switch (event.type) {
      case 'text_delta':
      case 'thinking_delta':
      case 'tool_arguments_delta':
        return delta(event);
      case 'block_end':
        flush(event.index);
        return void ready.push({ ...event, block: cleanBlock(event.block, redactor) });
      case 'start':
        // What came before it is void.
        blocks.clear();
        return void ready.push(event);
      case 'error':
        return void ready.push({ ...event, error: redactor.redactJson(event.error as unknown as JsonValue) as never });
      default:
        ready.push(event);
    }
  }

  function delta(event: Delta): void {
    let block = blocks.get(event.index);
    if (!block) blocks.set(event.index, (block = { stream: redactor.stream(), type: event.type }));
    const text = block.stream.push(event.text);
    if (text !== '') ready.push({ ...event, text });
  }

  function flush(index: number): void {
    const block = blocks.get(index);
    blocks.delete(index);
    const text = block?.stream.end() ?? '';
    if (block && text !== '') ready.push({ type: block.type, index, text });
  }

  return {
    async next() {
      for (let event = ready.shift(); ; event = ready.shift()) {
        if (event) return { done: false, value: event };
        const next = await inner.next();
        if (next.done === true) return next;
        take(next.value);
      }
    },
    return: async () => (await inner.return?.()) ?? { done: true, value: undefined },
  };
}

/** A block whose thinking was changed is no longer what its signature is for. */
function cleanBlock(block: ModelBlock, redactor: Redactor): ModelBlock {
  const clean = redactor.redactJson(block as unknown as JsonValue) as unknown as ModelBlock;
  if (clean === block || clean.type !== 'thinking') return clean;
  const { signature: _, ...unsigned } = clean;
  return unsigned;
}
