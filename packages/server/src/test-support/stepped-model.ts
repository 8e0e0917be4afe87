import type { Model } from '@treadle/core';
import { UNKNOWN_USAGE, type ModelEvent } from '@treadle/core/model';

/** A model whose reply comes as the test says: one block of text, piece by piece. */
export interface SteppedModel extends Model {
  /** Resolves when the model is being asked. */
  readonly asked: Promise<void>;
  say(text: string): void;
  /** The provider begins its reply anew. */
  restart(): void;
  finish(): void;
}

export function steppedModel(): SteppedModel {
  const asked = Promise.withResolvers<void>();
  const queue: ModelEvent[] = [];
  let text = '';
  let wake = (): void => {};
  const push = (...events: ModelEvent[]): void => {
    queue.push(...events);
    wake();
  };
  async function* stream(signal: AbortSignal): AsyncGenerator<ModelEvent> {
    asked.resolve();
    signal.addEventListener('abort', () => wake(), { once: true });
    while (!signal.aborted) {
      const event = queue.shift();
      if (event) {
        yield event;
        if (event.type === 'finish') return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
  return {
    provider: 'stepped',
    id: 'stepped',
    asked: asked.promise,
    stream: (_, signal) => stream(signal),
    say(more) {
      text += more;
      push({ type: 'text_delta', index: 0, text: more });
    },
    restart() {
      text = '';
      push({ type: 'start' });
    },
    finish() {
      push(
        { type: 'block_end', index: 0, block: { type: 'text', text } },
        { type: 'finish', stopReason: 'stop', usage: UNKNOWN_USAGE },
      );
    },
  };
}
