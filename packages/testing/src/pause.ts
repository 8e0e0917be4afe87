import type { Clock } from '@treadle/core';
import type { TurnPlayer } from './turns.ts';

/** Waits for the milliseconds or the promise, at most until the signal aborts. Never rejects. */
function pauseFor(pause: number | PromiseLike<unknown>, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let cancel: (() => void) | undefined;
    const done = (): void => {
      signal.removeEventListener('abort', done);
      cancel?.();
      resolve();
    };
    if (signal.aborted) {
      resolve();
      return;
    }
    signal.addEventListener('abort', done, { once: true });
    if (typeof pause === 'number') cancel = clock.after(pause, done);
    else pause.then(done, done);
  });
}

/** Waits out all pauses before the player's next event. Undefined when there are none, which costs nothing. */
export function passPauses(player: TurnPlayer, clock: Clock, signal: AbortSignal): Promise<void> | undefined {
  const first = player.pause();
  if (first === undefined) return undefined;
  return (async () => {
    for (let pause: typeof first | undefined = first; pause !== undefined; pause = player.pause()) {
      await pauseFor(pause, clock, signal);
      if (signal.aborted) return;
    }
  })();
}
