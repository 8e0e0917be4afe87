import { sessionsOf, TreadleError } from '@treadle/core';
import { initialState, reduce } from '@treadle/core/kernel';
import { checkMessages } from '@treadle/core/messages';
import { sessionStatus } from '@treadle/core/session';
import type { ServerParts } from '../../parts.ts';
import type { Caller } from '../post.ts';
import type { Reply } from './replies.ts';

/**
 * Goes back, in a session without an open run, to where a message of the user came in, as if it and all that followed had never been said. The branch that is
 * left is kept as a fork with the tag `replaced`. The session keeps its id, so a page finds it where it was.
 */
export async function goBack(caller: Caller, sessionId: string, { beganSeq }: Reply): Promise<void> {
  const { parts } = caller;
  const { journal, clock, ids } = parts;
  const id = `${sessionId.slice(0, 100)}~${ids.create('b').slice(2, 14)}`;
  await sessionsOf(journal, { clock, ids }).fork(sessionId, { id, tags: ['replaced'] });
  const before = initialState(sessionId);
  for await (const event of journal.read(sessionId, 1)) {
    if (event.seq >= beganSeq) break;
    reduce(before, event);
  }
  await replaceView(caller, sessionId, before.view);
}

/** Replaces the conversation by what a client has of it. The log keeps both. */
export async function replaceHistory(caller: Caller, sessionId: string, history: readonly object[]): Promise<void> {
  const { clock, ids } = caller.parts;
  await replaceView(caller, sessionId, checkMessages(history, { at: clock.now(), id: () => ids.create('msg') }));
}

const replaceView = (
  { parts: { journal, clock }, inputKey }: Caller,
  sessionId: string,
  messages: ReturnType<typeof checkMessages>,
) => journal.post(sessionId, { type: 'import', messages }, `${inputKey}:history`, clock.now());

/** Ends the open run and the prompts that wait, and waits until they have ended. */
export async function endRuns({ parts, inputKey }: Caller, sessionId: string): Promise<void> {
  const { journal, clock, dispatcher } = parts;
  if (await isIdle(parts, sessionId)) return;
  const input = { type: 'cancel', reason: 'The user went back to an earlier message.' } as const;
  await journal.post(sessionId, input, `${inputKey}:back`, clock.now());
  await dispatcher.dispatch(sessionId);
  await untilIdle(parts, sessionId);
}

const isIdle = async ({ states }: ServerParts, sessionId: string): Promise<boolean> =>
  sessionStatus(await states.of(sessionId)) === 'idle';

/** How long a run that is cancelled has to end, in milliseconds. Its tools are given up much sooner. */
const END_MS = 30_000;

async function untilIdle(parts: ServerParts, sessionId: string): Promise<void> {
  let wake = (): void => {};
  let isLate = false;
  const unwatch = parts.journal.watch(sessionId, () => wake());
  const cancelTimer = parts.clock.after(END_MS, () => {
    isLate = true;
    wake();
  });
  try {
    for (;;) {
      const news = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (await isIdle(parts, sessionId)) return;
      if (isLate) throw new TreadleError('journal_timeout', 'The open run was cancelled and has not ended. Try again.');
      await news;
    }
  } finally {
    unwatch();
    cancelTimer();
  }
}
