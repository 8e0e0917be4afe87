import { defineAgent, type Agent } from '@treadle/core';
import { UNKNOWN_USAGE } from '@treadle/core/model';

/** An agent whose model says so many words, each the time at which it says it. */
export function talkerAgent(words: number, pauseMs: number): Agent {
  return defineAgent({
    id: 'talker',
    model: {
      provider: 'talker',
      id: 'talker',
      async *stream(_, signal) {
        let text = '';
        for (let word = 0; word < words && !signal.aborted; word += 1) {
          await new Promise((resolve) => void setTimeout(resolve, pauseMs));
          const more = `${Date.now()} `;
          text += more;
          yield { type: 'text_delta', index: 0, text: more };
        }
        yield { type: 'block_end', index: 0, block: { type: 'text', text } };
        yield { type: 'finish', stopReason: 'stop', usage: UNKNOWN_USAGE };
      },
    },
  });
}
