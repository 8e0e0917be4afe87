import type { Journal } from '@treadle/core';

import { saidBy } from './who.ts';

/** A question, and where it is in a log. */
export interface WatchedQuestion {
  readonly sessionId: string;
  readonly approvalId: string;
  /** Its event. */
  readonly seq: number;
}

/** A question that is open here, and may be answered in another process. */
export interface AskedHere {
  /** Resolves with a line that says who has answered, or ended the run. */
  readonly elsewhere: Promise<string>;
  stop(): void;
}

/** Watches the log of a session for the answer to a question. */
export function watchAnswer(journal: Journal, question: WatchedQuestion): AskedHere {
  const answered = Promise.withResolvers<string>();
  let looking: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    const said = await answerTo(journal, question);
    if (said !== null) answered.resolve(said);
  };
  // What can't be read now is read with the next change; a journal that fails for good fails the run.
  const lookAgain = (): void => {
    looking = looking.then(look).catch(() => {});
  };
  const stop = journal.watch(question.sessionId, lookAgain);
  lookAgain();
  return { elsewhere: answered.promise, stop };
}

/** A line that says who has answered a question, or ended its run; null while nobody has. */
export async function answerTo(
  journal: Journal,
  { sessionId, approvalId, seq }: WatchedQuestion,
): Promise<string | null> {
  for await (const event of journal.read(sessionId, seq + 1)) {
    if (event.type !== 'input_received') continue;
    const { input } = event;
    const isAnswer = input.type === 'approval_answer' && input.approvalId === approvalId;
    if (isAnswer || input.type === 'cancel') return saidBy(event, null, 'another process');
  }
  return null;
}
