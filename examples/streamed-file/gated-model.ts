import type { Model } from '@treadle/core';
import { UNKNOWN_USAGE, type ModelEvent } from '@treadle/core/model';

/** A model that writes one page: its first part at once, the rest when it is let. Stands in for a language model in tests. */
export interface GatedModel extends Model {
  /** Lets it write the rest. */
  finish(): void;
  /** The provider fails instead. */
  fail(): void;
}

const CHUNK = 256;

export function gatedModel(id: string, page: string, before: number): GatedModel {
  const gate = Promise.withResolvers<'finish' | 'fail'>();
  const text = JSON.stringify({ content: page });
  let turn = 0;

  async function* stream(): AsyncGenerator<ModelEvent> {
    turn += 1;
    if (turn > 1) {
      yield { type: 'text_delta', index: 0, text: 'It is written.' };
      yield { type: 'block_end', index: 0, block: { type: 'text', text: 'It is written.' } };
      yield { type: 'finish', stopReason: 'stop', usage: UNKNOWN_USAGE };
      return;
    }
    yield { type: 'tool_call_start', index: 0, providerCallId: 'call', name: 'create_file' };
    for (let at = 0; at < text.length; at += CHUNK) {
      if (at >= before && (await gate.promise) === 'fail') {
        yield { type: 'error', error: { kind: 'auth', message: 'The key has run out.', retryable: false } };
        return;
      }
      yield { type: 'tool_arguments_delta', index: 0, text: text.slice(at, at + CHUNK) };
    }
    yield {
      type: 'block_end',
      index: 0,
      block: { type: 'tool_call', providerCallId: 'call', name: 'create_file', argumentsText: text },
    };
    yield { type: 'finish', stopReason: 'tool_use', usage: UNKNOWN_USAGE };
  }

  return {
    provider: 'test',
    id,
    stream: () => stream(),
    finish: () => gate.resolve('finish'),
    fail: () => gate.resolve('fail'),
  };
}
