import type { Agent } from './agent.ts';
import {
  EVENT_VERSION,
  type ClientToolResult,
  type Continuation,
  type DurableEvent,
  type InputMessage,
  type SessionInput,
} from './events/events.ts';
import { errorText, TreadleError } from './errors.ts';
import { userMessage, type UserInput } from './input.ts';
import type { Journal } from './journal/journal.ts';
import type { JsonObject } from './json.ts';
import { drive, type OpenInput } from './loop/drive.ts';
import type { Hub } from './loop/hub.ts';
import { resultsProblem, waitsForOthers } from './loop/plan-calls.ts';
import { reduce } from './loop/reduce.ts';
import type { CallState, SessionState } from './loop/state.ts';
import type { Message } from './messages/message.ts';
import type { Clock } from './ports/clock.ts';
import type { Ids } from './ports/ids.ts';
import { runResultFold } from './projections/run-result.ts';
import { createRun, type Run, type RunControl } from './run.ts';

/** What the methods of a session share. */
export interface SessionParts {
  readonly agent: Agent;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: () => number;
  readonly owner: string;
  readonly state: SessionState;
  readonly hub: Hub;
  /** Into this session's inbox, under a key of its own. */
  readonly post: (input: SessionInput) => Promise<unknown>;
  active: { readonly control: RunControl; readonly ended: Promise<void> } | null;
}

interface Extra {
  readonly metadata?: JsonObject;
}

/** Folds what others wrote while nothing was driven here. */
export async function refresh({ journal, state }: SessionParts): Promise<void> {
  for await (const event of journal.read(state.sessionId, state.seq + 1)) {
    if (event.type === 'session_created') refuseNewer(event);
    reduce(state, event);
  }
}

function refuseNewer(event: Extract<DurableEvent, { type: 'session_created' }>): void {
  if (event.eventVersion <= EVENT_VERSION) return;
  throw new TreadleError(
    'journal_too_new',
    `Session ${event.sessionId} was written by a newer Treadle (events ${event.eventVersion}, known ${EVENT_VERSION}).`,
  );
}

export function prompt(parts: SessionParts, messages: readonly InputMessage[], extra: Extra): Run {
  refuseActive(parts);
  return start(parts, async () => {
    await makeRoom(parts);
    await parts.post({ type: 'prompt', messages, ...extra });
  });
}

export function continueRun(parts: SessionParts, continuation: Continuation, extra: Extra): Run {
  refuseActive(parts);
  refuseContinue(parts.state);
  return start(parts, async () => {
    await makeRoom(parts);
    refuseContinue(parts.state);
    await parts.post({ type: 'continue', continuation, ...extra });
  });
}

export function submitToolResults(parts: SessionParts, results: readonly ClientToolResult[]): Run {
  refuseDriven(parts);
  const pending = openCalls(parts).filter(({ status, runs }) => status === 'started' && runs === 'client');
  const problem = resultsProblem(pending, results);
  if (problem !== null) throw new TreadleError('not_awaiting', problem);
  return goOn(parts, () => parts.post({ type: 'client_tool_results', results }));
}

export function answerApproval(
  parts: SessionParts,
  approvalId: string,
  decision: 'approve' | 'deny',
  message: string | undefined,
): Run {
  refuseDriven(parts);
  const asked = openCalls(parts).some((call) => call.approvalId === approvalId && call.decision === null);
  if (!asked) throw new TreadleError('not_awaiting', `No question ${approvalId} is open.`);
  const said = message === undefined ? {} : { message };
  return goOn(parts, () => parts.post({ type: 'approval_answer', approvalId, decision, ...said }));
}

const openCalls = ({ state }: SessionParts): readonly CallState[] => state.run?.turn?.calls ?? [];

/** Goes on with the open run: after a pause, or after its process died. */
export function goOn(parts: SessionParts, begin: () => Promise<unknown>): Run {
  refuseDriven(parts);
  const { run } = parts.state;
  if (!run)
    throw new TreadleError('nothing_to_continue', 'No run of this session is open. Use prompt() or continue().');
  return start(parts, begin, { openRun: { runId: run.runId, startedSeq: run.startedSeq } });
}

export async function abort(parts: SessionParts, reason: string | undefined): Promise<void> {
  const input: SessionInput = { type: 'cancel', ...(reason === undefined ? {} : { reason }) };
  if (parts.active) {
    // A cancellation posted before the run exists would hit nothing.
    const started = await parts.active.control.run.id.then(
      () => true,
      () => false,
    );
    if (started) await parts.post(input);
    return;
  }
  await refresh(parts);
  if (parts.state.run) await goOn(parts, () => parts.post(input)).result;
}

export async function replaceMessages(parts: SessionParts, messages: readonly Message[]): Promise<void> {
  refuseActive(parts);
  await refresh(parts);
  if (parts.state.run) {
    throw new TreadleError('run_active', 'A run of this session is open. Resume it or abort() it first.');
  }
  await parts.post({ type: 'import', messages });
  await refresh(parts);
}

function refuseDriven({ active }: SessionParts): void {
  if (!active) return;
  throw new TreadleError(
    'run_active',
    'A run is active in this session. Use steer() to tell it something now, followUp() for when it would end, or wait for its result.',
  );
}

function refuseActive(parts: SessionParts): void {
  refuseDriven(parts);
  refusePaused(parts);
}

function refusePaused(parts: SessionParts): void {
  if (!openCalls(parts).some(waitsForOthers)) return;
  throw new TreadleError(
    'run_active',
    'A run of this session is paused. Give it the results or the answer it waits for, or abort() it first.',
  );
}

function refuseContinue({ view }: SessionState): void {
  const last = view.findLast(({ role }) => role !== 'extension');
  if (!last) throw new TreadleError('nothing_to_continue', 'The history is empty. Use prompt() to start.');
  if (last.role !== 'assistant') return;
  throw new TreadleError(
    'ends_with_assistant',
    "The history ends with the assistant's message. Use prompt() to say what is next.",
  );
}

/** After the claim: a run whose process died makes room for the new one; a paused one doesn't. */
async function makeRoom(parts: SessionParts): Promise<void> {
  if (!parts.state.run) return;
  refusePaused(parts);
  await parts.post({
    type: 'cancel',
    reason: 'The process that drove this run is gone, and a new run took its place.',
  });
}

interface StartOptions {
  readonly openRun?: { readonly runId: string; readonly startedSeq: number };
  readonly input?: OpenInput;
}

/** Hands out a run and drives the session until it is idle or paused. */
function start(parts: SessionParts, begin: () => Promise<unknown>, { openRun, input }: StartOptions = {}): Run {
  const { journal, state, hub } = parts;
  const fold = openRun && runResultFold(openRun.runId);
  const control = createRun(
    {
      read: (from) => journal.read(state.sessionId, from),
      openMessage: () => hub.openMessage(),
      abort: (reason) => abort(parts, reason),
    },
    openRun && fold ? { runId: openRun.runId, fold } : undefined,
  );
  const work = async (): Promise<void> => {
    if (openRun && fold) {
      const upTo = state.seq;
      for await (const event of journal.read(state.sessionId, openRun.startedSeq)) {
        if (event.seq > upTo) break;
        fold.take(event);
      }
    }
    const unsubscribe = hub.subscribe(control.take);
    try {
      await driveHere(parts, begin, input ?? CLOSED_INPUT);
    } finally {
      unsubscribe();
    }
  };
  const ended = work().then(
    () => {
      parts.active = null;
      control.finish();
    },
    (error: unknown) => {
      parts.active = null;
      control.finish(error);
    },
  );
  parts.active = { control, ended };
  return control.run;
}

const CLOSED_INPUT: OpenInput = { isOpen: false, onClose: () => {} };

function driveHere(parts: SessionParts, begin: () => Promise<unknown>, input: OpenInput): Promise<void> {
  const { journal, state, agent, clock, ids, random, hub, owner } = parts;
  return drive({
    journal,
    state,
    agent,
    clock,
    ids,
    random,
    input,
    owner: { id: ids.create('drive'), label: owner },
    observe: hub.emit,
    observed: () => hub.observed,
    setOpenMessage: hub.setOpenMessage,
    begin: async () => {
      await begin();
    },
  });
}

/** The first message of the stream starts the run; the others follow up while it lasts. */
export function promptStream(parts: SessionParts, stream: AsyncIterable<UserInput>, extra: Extra): Run {
  refuseActive(parts);
  const iterator = stream[Symbol.asyncIterator]();
  const input = openInput();
  const begin = async (): Promise<void> => {
    await makeRoom(parts);
    const first = await iterator.next();
    if (first.done === true) throw new TreadleError('empty_prompt', 'The stream of prompts ended without a message.');
    await parts.post({ type: 'prompt', messages: [userMessage(first.value)], ...extra });
    void forwardFollowUps(parts, iterator).finally(input.close);
  };
  const run = start(parts, begin, { input });
  const stop = (): void => {
    input.close();
    void iterator.return?.().catch(() => {});
  };
  run.result.then(stop, stop);
  return run;
}

/** Never rejects: a stream that fails cancels the run it fed, with the reason. */
async function forwardFollowUps(parts: SessionParts, iterator: AsyncIterator<UserInput>): Promise<void> {
  try {
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      await parts.post({ type: 'follow_up', message: userMessage(next.value) });
    }
  } catch (error) {
    // Only fails when the journal does, and then the run's own result says so.
    await abort(parts, `The stream of prompts failed: ${errorText(error)}`).catch(() => {});
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
