import { defineAgent, type Agent } from '@treadle/core';
import { UNKNOWN_USAGE } from '@treadle/core/model';

/** Words at most, whatever it waits for. */
const MOST_WORDS = 4000;

let messages = 0;

/**
 * An agent whose model says so many words: each is the time at which it says it and, behind a point, the number of its
 * message. `mayEnd`: it says more until that is true of the words it has said, and gives up after 4,000.
 */
export function talkerAgent(words: number, pauseMs: number, mayEnd: (said: string) => boolean = () => true): Agent {
  return defineAgent({
    id: 'talker',
    model: {
      provider: 'talker',
      id: 'talker',
      async *stream(_, signal) {
        messages += 1;
        const message = messages;
        let text = '';
        const isDone = (word: number): boolean => word >= MOST_WORDS || (word >= words && mayEnd(text));
        for (let word = 0; !isDone(word) && !signal.aborted; word += 1) {
          await new Promise((resolve) => void setTimeout(resolve, pauseMs));
          const more = `${Date.now()}.${message} `;
          text += more;
          yield { type: 'text_delta', index: 0, text: more };
        }
        yield { type: 'block_end', index: 0, block: { type: 'text', text } };
        yield { type: 'finish', stopReason: 'stop', usage: UNKNOWN_USAGE };
      },
    },
  });
}
