import type { Agent } from '../agent/agent.ts';
import { readHandle } from '../journal/history.ts';
import type { DurableEvent, LiveEvent } from '../events/events.ts';
import { EVENT_VERSION } from '../events/version.ts';
import { TreadleError } from '../errors.ts';
import { callModel } from './perform/call-model.ts';
import type { BranchPerformer, PerformContext, SessionContext } from './context.ts';
import { decide } from './services/decide.ts';
import {
  DRIVE_QUESTIONS,
  hookObservers,
  ledgerSettlements,
  noteInput,
  PERFORMERS,
  REVIVALS,
  SERVICES,
  type LedgerSettlements,
} from './features.ts';
import { createInterrupt, type Interrupt } from './perform/interrupt.ts';
import { openLog, type DriveLog } from './log.ts';
import { agentOfRun } from './perform/offered-tools.ts';
import { nextInput, plan } from './plan.ts';
import type { SessionSource } from './services/question.ts';
import type { Step } from './step.ts';
import { activeTime, limitsOf } from './services/run-limits.ts';
import { modelRequest } from './perform/request.ts';
import { runTools } from './perform/run-tools.ts';
import type { SessionState } from './state.ts';
import { createToolProgress } from './perform/tool-progress.ts';

/** Input that is still arriving: while it is open, a run that would end waits for what comes. */
export interface OpenInput {
  readonly isOpen: boolean;
  /** Calls `listener` when the input closes. */
  onClose(listener: () => void): void;
}

/** One drive of a session. */
export interface Drive {
  /** Whose turn it was when the session's agent was found: when the session is handed over, the drive lets go. */
  readonly drivenBy: string | null;
  /** How the session came to be open, when this is its first drive since. */
  readonly opened: SessionSource | null;
  /** Called once the session is ours and its state is current, before anything is planned: the place to post. */
  readonly begin: () => Promise<void>;
  readonly input: OpenInput;
}

/**
 * Works on a session until there is nothing left to do: claim, fold, then plan and perform in turns. It resolves when the
 * session is idle or paused, and rejects when the session can't be claimed or the journal fails; what was acknowledged
 * until then stays, and the next drive goes on from there.
 */
export async function drive(session: SessionContext, given: Drive): Promise<void> {
  // The drive keeps the agent it begins with, whoever the session is handed over to meanwhile.
  const { journal, state, agent, keeper, blobs, clock, hub, hold } = session;
  const interrupt = createInterrupt();
  const claim = await hold.claim(() => interrupt.fire('lost'));
  const gone = agent.hooks ? new AbortController() : null;
  const observers = gone
    ? hookObservers(agent, state, { clock, signal: gone.signal, warn: (code, message) => warn(code, message) })
    : null;
  const warn = (code: string, message: string): void =>
    hub.emit({ type: 'warning', afterSeq: state.seq, code, message });
  const settlements = ledgerSettlements(agent, warn);
  const log = openLog({
    journal,
    state,
    epoch: claim.epoch,
    applied: (event) => {
      if (event.type === 'run_started') interrupt.reset();
      keeper?.take(event);
      if (blobs) noteInput(blobs, event);
      hub.emit(event);
      observers?.take(event);
      settlements?.take(event);
      if (event.type === 'input_received' && isCancelled(state, event)) interrupt.fire('cancelled');
    },
    failed: () => {
      interrupt.fire('lost');
      gone?.abort();
    },
  });
  hold.yielding.addEventListener('abort', log.wake);
  try {
    if (state.seq < claim.seq) await log.catchUp();
    settlements?.repeat(state.settled);
    const version = state.eventVersion < EVENT_VERSION ? { eventVersion: EVENT_VERSION } : {};
    await log.record([
      { type: 'drive_started', at: clock.now(), epoch: claim.epoch, owner: session.owner, ...version },
    ]);
    const context = contextOf(session, agent, log, interrupt, settlements);
    for (const revive of REVIVALS) await revive(context);
    const { opened } = given;
    const questions = opened === null ? [] : DRIVE_QUESTIONS.flatMap((ask) => ask(agent, opened, claim.epoch));
    if (questions.length > 0) await decide(context, questions);
    await given.begin();
    given.input.onClose(() => log.wake());
    await log.catchUp();
    await work(agent, given, context);
    keeper?.keepIfDue(state);
    await observers?.settled();
  } finally {
    hold.yielding.removeEventListener('abort', log.wake);
    await log.close();
    await settlements?.done();
    await hold.letGo();
  }
}

function contextOf(
  session: SessionContext,
  driver: Agent,
  log: DriveLog,
  interrupt: Interrupt,
  settlements: LedgerSettlements | null,
): PerformContext {
  const { sessionId, journal, state, keeper, clock, ids, random, owner, hold, blobs, hub } = session;
  const { tasks, branches, childRunner } = session;
  const emit = (event: LiveEvent): void => hub.emit(event);
  const observed = (): boolean => hub.isObserved();
  return {
    sessionId,
    agent: agentOfRun(driver, state),
    journal,
    state,
    keeper,
    clock,
    ids,
    random,
    owner,
    hold,
    appContext: session.appContext,
    blobs,
    hub,
    tasks,
    branches,
    childRunner,
    log,
    interrupt,
    emit,
    observed,
    setOpenMessage: (message) => hub.setOpenMessage(message),
    asking: 0,
    modelRequest,
    services: SERVICES,
    readHistory: (handle) => readHandle({ read: (from) => journal.read(sessionId, from) }, handle),
    ledgerHeard: () => settlements?.done() ?? Promise.resolve(),
    toolProgress: createToolProgress({ agent: driver, state, clock, observed, observe: emit }),
  };
}

async function work(driver: Agent, { drivenBy, input }: Drive, context: PerformContext): Promise<void> {
  const { state, interrupt, blobs, hold } = context;
  let stopDeadline = (): void => {};
  let timedRun: string | undefined;
  try {
    for (;;) {
      if (interrupt.fired() === 'lost') throw lostClaim(state);
      // The agent that the session was handed over to begins a drive of its own.
      if (state.drivenBy !== drivenBy) return;
      // The open run's client may offer tools of its own.
      context.agent = agentOfRun(driver, state);
      const step = plan(state, context.agent, timeOf(context), {
        isInputOpen: input.isOpen,
        isInterrupted: interrupt.fired() !== null,
        keepsBlobs: blobs !== null,
      });
      if (step.type === 'idle' || (hold.yielding.aborted && beginsSomething(step))) return;
      // What was to be cut short is over, and whatever comes next has its own time.
      if (state.run === null) interrupt.reset();
      if (state.run?.runId !== timedRun) {
        stopDeadline();
        timedRun = state.run?.runId;
        stopDeadline = timedRun === undefined ? () => {} : armDeadline(context);
      }
      await perform(context, step);
    }
  } finally {
    stopDeadline();
    context.toolProgress.close();
  }
}

/** Whether a drive that is to stop leaves this to the next one: what is over may still be written down. */
const beginsSomething = (step: Step): boolean =>
  step.type !== 'record' || step.events.some(({ type }) => type === 'turn_started' || type === 'run_started');

/** The only effects there are. */
function perform(context: PerformContext, step: Exclude<Step, { type: 'idle' }>): Promise<unknown> {
  switch (step.type) {
    case 'record':
      return context.log.tryRecord(step.events);
    case 'wait':
      return waitUntil(context, step.until);
    case 'decide':
      return decide(context, step.questions);
    case 'call_model':
      return callAndKeep(context, step);
    case 'run_tools':
      return runTools(context, step);
    case 'run_branches':
    case 'adopt_branch':
      return performBranches(context, step);
    case 'compact':
      return PERFORMERS.compact(context, step);
    case 'keep_files':
      return PERFORMERS.keep_files(context, step);
    case 'start_tasks':
      return PERFORMERS.start_tasks(context, step);
    case 'stop_tasks':
      return PERFORMERS.stop_tasks(context, step);
    case 'stop_children':
      return PERFORMERS.stop_children(context, step);
  }
}

/** While the model thinks there is time for a snapshot. */
function callAndKeep(context: PerformContext, step: Extract<Step, { type: 'call_model' }>): Promise<void> {
  const called = callModel(context, step);
  context.keeper?.keepIfDue(context.state);
  return called;
}

function performBranches(...[context, step]: Parameters<BranchPerformer>): Promise<void> {
  if (context.branches) return context.branches(context, step);
  throw new TreadleError(
    'run_active',
    `Branches do the open run of session ${context.sessionId}. Go on with it by runBranches with the same branches, or abort() it.`,
  );
}

/** Once the deadline has fired the time is up, whatever a clock that was set back says. */
function timeOf({ state, agent, clock, interrupt }: PerformContext): number {
  const now = clock.now();
  const { run } = state;
  if (interrupt.fired() !== 'time_limit' || !run) return now;
  return Math.max(now, run.lastAt + limitsOf(run, agent).maxDurationMs - run.activeMs);
}

/** Whether this input ends what is going on: the open run, or the start of one. */
function isCancelled(state: SessionState, { input }: Extract<DurableEvent, { type: 'input_received' }>): boolean {
  if (input.type !== 'cancel') return false;
  return (state.run ? state.run.cancel : nextInput(state)?.cancelled) != null;
}

const lostClaim = ({ sessionId }: SessionState): TreadleError =>
  new TreadleError('fenced', `Session ${sessionId} was taken over by another drive, or its journal failed.`);

/** Waits on the clock, or for ever with null; an interrupt or news in the log end it early, and the plan decides anew. */
function waitUntil({ clock, interrupt, log }: PerformContext, until: number | null): Promise<void> {
  return new Promise<void>((resolve) => {
    let forget = (): void => {};
    let cancel = (): void => {};
    const done = (): void => {
      cancel();
      forget();
      resolve();
    };
    if (until !== null) cancel = clock.after(Math.max(0, until - clock.now()), done);
    void log.change().then(done);
    forget = interrupt.on(done);
  });
}

/** How often a run whose time is up looks whether somebody is still being asked. */
const LOOK_AGAIN_MS = 1_000;

/** Cuts effects short when the run's time is up: the limit holds inside a turn too. The time of a person doesn't count. */
function armDeadline(context: PerformContext): () => void {
  const { state, agent, clock, interrupt } = context;
  const maxDurationMs = state.run ? limitsOf(state.run, agent).maxDurationMs : Infinity;
  if (!Number.isFinite(maxDurationMs)) return () => {};
  let cancel = (): void => {};
  const arm = (): void => {
    const left = state.run ? maxDurationMs - activeTime(state.run, clock.now()) : 0;
    // Timers may fire a little early; the plan must see the time as up.
    if (left <= 0 && context.asking === 0) interrupt.fire('time_limit');
    else cancel = clock.after(left > 0 ? left : LOOK_AGAIN_MS, arm, { background: true });
  };
  arm();
  return () => cancel();
}
