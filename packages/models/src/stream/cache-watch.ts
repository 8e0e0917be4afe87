import type { ModelMessage, Usage } from '@treadle/core';
import type { ModelRequest, ModelWarning } from '@treadle/core/model';
import { bytesOfBody, type HttpBody } from '@treadle/core/ports';

/** Providers keep no prompt of fewer tokens. */
const LEAST_TOKENS = 1024;

/** Bytes of a body that is kept to be compared with the next. */
const MOST_BYTES = 8_000_000;

/** The last request of a conversation whose prompt its provider has kept. */
interface Kept {
  readonly body: HttpBody;
  readonly tokens: number;
  readonly messages: number;
  readonly last: ModelMessage | undefined;
}

/** Marks move from call to call, and no provider counts them. */
const MARKS = /,?\{"cachePoint":\{[^{}]*\}\}|,"cache_control":\{[^{}]*\}/g;

const textOf = (body: HttpBody): string => new TextDecoder().decode(bytesOfBody(body)).replace(MARKS, '');

/** The first byte in which a request differs from the one before; null when it only goes on. */
export function firstChange(before: HttpBody, after: HttpBody): number | null {
  const [old, now] = [textOf(before), textOf(after)];
  let at = 0;
  while (at < old.length && old[at] === now[at]) at += 1;
  if (old[at] === ']' && now[at] === ',') return null;
  return new TextEncoder().encode(old.slice(0, at)).length;
}

/**
 * Notices prompts that a provider had kept and doesn't read back. Bodies are compared only then, so a call that hits costs
 * nothing. A conversation is known by its first message; one that was made anew, as by a compaction, is expected to miss.
 */
export class CacheWatch {
  readonly #kept = new WeakMap<ModelMessage, Kept>();

  finished({ messages }: ModelRequest, body: HttpBody, { cacheRead, cacheWrite }: Usage): ModelWarning | null {
    const [first] = messages;
    if (first === undefined || cacheRead === null) return null;
    const before = this.#kept.get(first);
    const tokens = cacheRead + (cacheWrite ?? 0);
    if (tokens > 0 && body.length <= MOST_BYTES)
      this.#kept.set(first, { body, tokens, messages: messages.length, last: messages.at(-1) });
    else this.#kept.delete(first);
    if (before === undefined || before.tokens < LEAST_TOKENS || cacheRead >= before.tokens / 2) return null;
    if (messages[before.messages - 1] !== before.last) return null;
    const at = firstChange(before.body, body);
    if (at === null) return null;
    const message =
      `The provider had kept ${before.tokens} tokens of the prompt, and read ${cacheRead} of them: ` +
      `the request differs from the one before at byte ${at}, cache marks not counted.`;
    return { code: 'cache_missed', message, at };
  }
}
