import {
  errorText,
  TreadleError,
  type Journal,
  type PendingCall,
  type Run,
  type RunResult,
  type Session,
} from '@treadle/core';

import { answerTo, watchAnswer, type WatchedQuestion } from '../attach/answered-elsewhere.ts';
import { askForm } from '../asking/ask-form.ts';
import { askPermission, type ApprovalQuestion } from '../asking/ask-permission.ts';
import { answersFor, type Asking } from '../asking/ask-user.ts';
import type { CommandContext } from '../context.ts';
import { EXIT, exitCodeOf, SIGNAL_EXIT } from '../exit-codes.ts';
import type { RunOutput } from '../output/run-output.ts';
import { shortId } from '../sessions/folder-sessions.ts';
import type { Terminal } from '../asking/terminal.ts';
import { styleFor } from '../style.ts';

/** Where somebody can be asked: questions of the model on standard output, of permission on standard error. */
export interface Terminals {
  readonly user: Terminal;
  /** Programs that read the output are no people. */
  readonly permissions: Terminal;
}

/** A run that is under way, and who is asked and told about it. */
export interface RunInHand {
  readonly session: Session;
  readonly journal: Journal;
  readonly begin: () => Promise<Run>;
  readonly output: RunOutput;
  readonly terminals: Terminals;
  /** What is to be said beside a question about a command; null for nothing. */
  readonly aboutCommands: () => Promise<string | null>;
  /** What a call would change, as a diff; null for calls that change no file. */
  readonly preview: (call: PendingCall) => Promise<string | null>;
}

/** Drives a run to its end, through all that it waits for. Returns the exit code. */
export async function driveRun(context: CommandContext, inHand: RunInHand): Promise<number> {
  const { session, begin, output, terminals } = inHand;
  const { io, out, err, note, interruptions } = context;
  const startedAt = io.now();
  const run = await begin();
  let left = false;
  let isOver = false;
  let isAsking = false;
  const stops = Promise.withResolvers<string>();
  const stop = (reason: string): void => {
    stops.resolve(reason);
    // The last of the output may fail when there is nothing left to stop; a paused run is ended where it is waited for.
    if (isOver || isAsking) return;
    // When the journal can't take the cancellation, the run fails for the same reason and says so.
    session.abort(reason).catch((error: unknown) => note(`The run could not be cancelled: ${errorText(error)}`));
  };
  out.onClosed(() => {
    left = true;
    stop(out.failure === null ? 'The reader of the output went away.' : 'The output could not be written.');
  });
  interruptions.onFirst((signal) => {
    note(`${signal}: ending the run. Once more ends the process at once.`);
    stop(`Interrupted by ${signal}.`);
  });
  const isStopped = (): boolean => left || interruptions.signal !== null;
  const style = styleFor(out.isTTY, io.env);
  const asking: Asking = { terminal: terminals.user, out, style, stopped: stops.promise, isStopped };
  const permissions: Asking = {
    ...asking,
    terminal: terminals.permissions,
    out: err,
    style: styleFor(err.isTTY, io.env),
  };
  let result = await follow(context, run, output);
  while (result.status === 'paused') {
    isAsking = true;
    const goOn = await answered(inHand, note, result.pending, asking, permissions);
    if (goOn === null) {
      if (isStopped()) result = await endPaused(session, result, await stops.promise);
      else note('The run waits for an answer. Give it at a terminal: treadle -c');
      break;
    }
    isAsking = false;
    const next = await goneOn(context, inHand, goOn, output);
    if (next === null) {
      note(`Another process goes on with it: treadle attach ${shortId(session.id)}`);
      return EXIT.error;
    }
    result = next;
  }
  isOver = true;
  if (!left) output.end({ sessionId: session.id, agent: session.agent, result, durationMs: io.now() - startedAt });
  if (interruptions.signal !== null) return SIGNAL_EXIT[interruptions.signal];
  return left ? EXIT.closedPipe : exitCodeOf(result.status, result.permissionDenials.some(isFailure));
}

/** What the person at the terminal has refused is as they wanted it. */
const isFailure = ({ by }: RunResult['permissionDenials'][number]): boolean => by !== 'person';

/**
 * Follows a run that goes on; one whose question another process was quicker to answer goes on with that answer. Null when
 * that process drives the run now, or has ended it.
 */
async function goneOn(
  context: CommandContext,
  { session, journal }: RunInHand,
  { goOn, question }: Answered,
  output: RunOutput,
): Promise<RunResult | null> {
  try {
    return await follow(context, goOn(), output);
  } catch (error) {
    if (isElsewhere(error)) return null;
    if (!(error instanceof TreadleError) || error.code !== 'conflict') throw error;
    const said = question && (await answerTo(journal, question));
    context.note(`${said ?? 'Somebody else has answered'}: your answer came too late.`);
    await session.refresh();
    try {
      return await follow(context, session.resume(), output);
    } catch (after) {
      if (isElsewhere(after)) return null;
      throw after;
    }
  }
}

const isElsewhere = (error: unknown): boolean =>
  error instanceof TreadleError && ['session_busy', 'fenced', 'nothing_to_continue'].includes(error.code);

/** How a paused run goes on, and the question that was answered; null for questions of the model. */
interface Answered {
  readonly goOn: () => Run;
  readonly question: WatchedQuestion | null;
}

/** How a paused run goes on, once somebody has answered; null when nobody does. */
async function answered(
  { session, journal, aboutCommands, preview }: RunInHand,
  note: (text: string) => void,
  pending: RunResult['pending'],
  asking: Asking,
  permissions: Asking,
): Promise<Answered | null> {
  const call = pending.find(({ approvalId }) => approvalId !== undefined);
  if (call?.approvalId === undefined) {
    const answers = await answersFor(pending, asking);
    return answers && { goOn: () => session.addToolOutputs(answers), question: null };
  }
  const { approvalId } = call;
  if (!permissions.terminal.isThere) return null;
  const question = await questionOf(journal, call.sessionId ?? session.id, approvalId);
  const watched = question && { sessionId: call.sessionId ?? session.id, approvalId, seq: question.seq };
  const asked = watched && watchAnswer(journal, watched);
  let said: string | null = null;
  const elsewhere = asked?.elsewhere.then((line) => {
    said = line;
  });
  const isStopped = (): boolean => said !== null || permissions.isStopped();
  const stopped = elsewhere ? Promise.race([permissions.stopped, elsewhere]) : permissions.stopped;
  const here: Asking = { ...permissions, stopped, isStopped };
  const typed =
    question?.key === undefined
      ? await askPermission(call, question, here, {
          about: call.toolName === 'bash' ? await aboutCommands() : null,
          diff: await preview(call),
        })
      : await askForm(call, question, here);
  asked?.stop();
  if (typed) return { goOn: () => session[typed.decision](approvalId, typed.said), question: watched };
  if (said === null) return null;
  // What is typed now was for this question, and answers no other one.
  permissions.terminal.forget?.();
  permissions.out.print('\n');
  note(said);
  await session.refresh();
  return { goOn: () => session.resume(), question: null };
}

/** The question as it was asked, perhaps by another process. */
async function questionOf(journal: Journal, sessionId: string, approvalId: string): Promise<ApprovalQuestion | null> {
  let found: ApprovalQuestion | null = null;
  for await (const event of journal.read(sessionId, 1)) {
    if (event.type === 'approval_requested' && event.approvalId === approvalId) found = event;
  }
  return found;
}

/** Prints a run's events as they come, to its end or its pause. */
async function follow({ out, interruptions }: CommandContext, run: Run, output: RunOutput): Promise<RunResult> {
  for await (const event of run) {
    output.take(event);
    // A reader that doesn't read must not keep an interrupted process alive.
    const clogged = out.flowing();
    if (clogged) await Promise.race([clogged, interruptions.first]);
  }
  return run.result;
}

/** Ends a run that waits for an answer nobody will give any more. */
async function endPaused(session: Session, result: RunResult, reason: string): Promise<RunResult> {
  await session.abort(reason);
  return { ...result, status: 'aborted', message: reason, pending: [] };
}
