import { errorText, TreadleError } from '../errors.ts';
import type { InputMessage } from '../events/events.ts';
import { userMessage, type UserInput } from './input.ts';
import type { OpenInput } from '../kernel/drive.ts';
import type { Run, RunControl } from './run.ts';
import { abortRun, checkedExtra, makeRoom, refuseActive, start, type Extra, type SessionParts } from './runs.ts';

/**
 * The first message of the stream starts the run; the others follow up while it lasts. When the run ends or pauses, the
 * stream is closed: nothing more is read from it.
 */
export function promptStream(parts: SessionParts, stream: AsyncIterable<UserInput>, extra: Extra): Run {
  refuseActive(parts);
  const kept = checkedExtra(parts.agent, extra);
  const iterator = stream[Symbol.asyncIterator]();
  const input = openInput();
  const givenUp = Promise.withResolvers<never>();
  givenUp.promise.catch(() => {});
  const giveUp = (reason = 'The run was aborted before its first message came.'): void => {
    givenUp.reject(new TreadleError('cancelled', reason));
  };
  const begin = async (control: RunControl): Promise<void> => {
    await makeRoom(parts);
    const first = await firstMessage(iterator, givenUp.promise);
    control.bind((await parts.post({ type: 'prompt', messages: [first], ...kept })).seq);
    void forwardFollowUps(parts, control, iterator).finally(input.close);
  };
  const run = start(parts, begin, { input, giveUp });
  const stop = (): void => {
    input.close();
    // Not awaited, for a stream may hang; its failure concerns nobody any more.
    void (async () => iterator.return?.())().catch(() => {});
  };
  run.result.then(stop, stop);
  return run;
}

/** @throws TreadleError `empty_prompt` when the stream has none, `cancelled` when the run is aborted while it waits. */
async function firstMessage(iterator: AsyncIterator<UserInput>, givenUp: Promise<never>): Promise<InputMessage> {
  const first = await Promise.race([iterator.next(), givenUp]);
  if (first.done === true) throw new TreadleError('empty_prompt', 'The stream of prompts ended without a message.');
  return userMessage(first.value);
}

/** Never rejects: a stream that fails cancels the run it fed, with the reason. */
async function forwardFollowUps(
  parts: SessionParts,
  control: RunControl,
  iterator: AsyncIterator<UserInput>,
): Promise<void> {
  try {
    for (let next = await iterator.next(); next.done !== true && !control.isOver(); next = await iterator.next()) {
      await parts.post({ type: 'follow_up', message: userMessage(next.value) });
    }
  } catch (error) {
    // Only fails when the journal does, and then the run's own result says so.
    await abortRun(parts, control, `The stream of prompts failed: ${errorText(error)}`).catch(() => {});
  }
}

function openInput(): OpenInput & { readonly close: () => void } {
  const listeners: (() => void)[] = [];
  let isOpen = true;
  return {
    get isOpen() {
      return isOpen;
    },
    onClose: (listener) => listeners.push(listener),
    close() {
      isOpen = false;
      for (const listener of listeners) listener();
    },
  };
}
