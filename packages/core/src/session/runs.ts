import type { Continuation, InputMessage, SessionInput } from '../events/events.ts';
import { TreadleError, type TreadleErrorCode } from '../errors.ts';
import { asJson, checkMetadata, type JsonObject, type JsonValue } from '../json.ts';
import { checkLimits, limitChanges } from '../features/limits/options.ts';
import type { Limits, LimitsData } from '../events/limits.ts';
import type { Agent } from '../agent/agent.ts';
import { withModel } from '../features/routing/routing.ts';
import { drive, type OpenInput } from '../kernel/drive.ts';
import { endSession } from '../features/hooks/hook-observers.ts';
import { agentOfRun } from '../kernel/perform/offered-tools.ts';
import { plan } from '../kernel/plan.ts';
import { waitsForOthers } from '../kernel/plan/calls.ts';
import { reduce } from '../kernel/reduce.ts';
import { wakeUp } from '../features/background/plan.ts';
import { openTasks, type TaskState } from '../features/background/task.ts';
import { hasEnded } from '../tools/task-control.ts';
import { waitingRuns, type CallState, type SessionState } from '../kernel/state.ts';
import { checkMessages } from '../messages/check.ts';
import type { ExtensionMessage, Message } from '../messages/message.ts';
import { isFileUpdate } from '../features/permissions/updates.ts';
import { checkUpdates } from '../features/permissions/check-updates.ts';
import type { PermissionUpdate } from '../events/permission-updates.ts';
import { checkOffered } from '../tools/define/check-offered.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import type { SessionParts } from './parts.ts';
import { createRun, type Run, type RunControl } from './run.ts';

export type { SessionParts } from './parts.ts';

export interface Extra {
  readonly metadata?: JsonObject;
  readonly model?: string;
  readonly limits?: Partial<Limits>;
  readonly clientTools?: readonly OfferedTool[];
  readonly continuation?: Continuation;
}

export interface KeptExtra {
  readonly continuation?: Continuation;
  readonly metadata?: JsonObject;
  readonly limits?: LimitsData;
  readonly clientTools?: readonly OfferedTool[];
}

/** Does something with the state when nobody else does. */
export function inTurn<Value>(parts: SessionParts, work: () => Promise<Value>): Promise<Value> {
  const done = parts.queue.then(work);
  parts.queue = done.catch(() => {});
  return done;
}

/** Folds what others wrote while nothing was driven here. */
export async function refresh(parts: SessionParts): Promise<void> {
  await inTurn(parts, () => foldNews(parts));
  parts.expiry?.arm();
}

export async function foldNews({ journal, state, keeper }: SessionParts): Promise<void> {
  for await (const event of journal.read(state.sessionId, state.seq + 1)) {
    reduce(state, event);
    keeper?.take(event);
  }
}

export function prompt(parts: SessionParts, messages: readonly InputMessage[], extra: Extra): Run {
  refuseActive(parts);
  const kept = checkedExtra(parts.agent, extra);
  return start(parts, async (control) => {
    await makeRoom(parts);
    control.bind((await parts.post({ type: 'prompt', messages, ...kept })).seq);
  });
}

export function continueRun(parts: SessionParts, continuation: Continuation, extra: Extra): Run {
  refuseActive(parts);
  refuseContinue(parts.state);
  const kept = checkedExtra(parts.agent, extra);
  return start(parts, async (control) => {
    await makeRoom(parts);
    refuseContinue(parts.state);
    control.bind((await parts.post({ type: 'continue', continuation, ...kept })).seq);
  });
}

/** What goes into the log must be what comes out of it. */
export function checkedExtra(agent: Agent, { metadata, model, limits, continuation, clientTools }: Extra): KeptExtra {
  if (limits !== undefined) checkLimits(limits);
  const data = withModel(agent.routing, model, metadata);
  return {
    ...(data === undefined ? {} : { metadata: checkMetadata('run', data) }),
    ...(limits === undefined ? {} : { limits: limitChanges(limits) }),
    ...(clientTools === undefined || clientTools.length === 0 ? {} : { clientTools: checkOffered(clientTools) }),
    ...(continuation === undefined ? {} : { continuation }),
  };
}

export async function updatePermissions(parts: SessionParts, given: readonly PermissionUpdate[]): Promise<void> {
  const { allowBypass, saveUpdate, known } = parts.agent.permissions;
  const offered = parts.state.run?.clientTools ?? [];
  const updates = checkUpdates(given, allowBypass, [...known, ...offered.map(({ name }) => name)]);
  const forFiles = updates.filter(isFileUpdate);
  if (forFiles.length > 0 && !saveUpdate) {
    throw new TreadleError('invalid_definition', 'This agent keeps no settings files. Use the destination "session".');
  }
  await parts.post({ type: 'permission_updates', updates });
  if (!parts.active) await refresh(parts);
  for (const update of forFiles) await saveUpdate?.(update, new AbortController().signal);
}

export async function addExtension(parts: SessionParts, kind: string, data: JsonValue): Promise<ExtensionMessage> {
  const fill = { at: parts.clock.now(), id: () => parts.ids.create('msg') };
  const [message] = checkMessages([{ role: 'extension', kind, data: asJson(data)?.value }], fill);
  if (message?.role !== 'extension' || (message.data === null && data !== null))
    throw new TreadleError('invalid_messages', 'The data of an extension message must be JSON. Give a JSON value.');
  await parts.post({ type: 'extension', message });
  if (!parts.active) await refresh(parts);
  return message;
}

export const openCalls = ({ state: { run } }: SessionParts): readonly CallState[] =>
  run?.isForked ? [] : (run?.turn?.calls ?? []);

/** Whether there is something to resume: an open run, or a prompt that nobody has answered. */
export const hasWork = ({ state, agent }: SessionParts): boolean =>
  (state.run !== null && !state.run.isForked) || waitingRuns(state).length > 0 || wakeUp(state, agent) !== null;

/** Goes on with the open run, or with the oldest prompt whose process died before its run began. */
export function resume(parts: SessionParts): Run {
  refuseDriven(parts);
  if (!hasWork(parts)) throw nothingOpen();
  return start(parts, (control) => goOnWith(parts, control));
}

const nothingOpen = (): TreadleError =>
  new TreadleError('nothing_to_continue', 'No run of this session is open. Use prompt() or continue().');

/** Does what needs no run. */
export async function tidyUp(parts: SessionParts): Promise<void> {
  if (parts.active) return;
  await inTurn(parts, async () => {
    await foldNews(parts);
    if (parts.active) return;
    const { state, agent, clock, hold, tasks } = parts;
    const isIdle = plan(state, agentOfRun(agent, state), clock.now()).type === 'idle';
    // A run that goes on is for `resume`.
    if (!isIdle && hasWork(parts)) return;
    // What another process had in the background is found, or given up, by a drive.
    const isLeft = ({ taskId, status }: TaskState): boolean => !hasEnded(status) && tasks?.isHere(taskId) !== true;
    if (!isIdle || (state.tasks && openTasks(state.tasks).some(isLeft)))
      return driveHere(parts, () => Promise.resolve(), CLOSED_INPUT);
    // The journal is told that there is nothing to do, where nobody else is at it.
    await hold.claim(() => {}).then(() => hold.letGo(), ifBusy);
  });
  if (!parts.active) parts.titler?.ask();
}

/** Somebody else holds it, and says so when it lets go. */
function ifBusy(error: unknown): void {
  if (!isCode(error, 'session_busy')) throw error;
}

/** Binds a handle to the open run, or else to the prompt that is next. */
export async function goOnWith({ state, agent }: SessionParts, control: RunControl): Promise<void> {
  const { run } = state;
  if (!run) {
    const next = waitingRuns(state)[0] ?? wakeUp(state, agent);
    if (!next) throw nothingOpen();
    control.bind(next.seq);
    return;
  }
  control.bind(run.inputSeq, { runId: run.runId, startedSeq: run.startedSeq });
}

/** Ends everything that is open or waits. Acknowledged once it is in the log, wherever the session is driven. */
export async function abort(parts: SessionParts, reason: string | undefined): Promise<void> {
  const input: SessionInput = { type: 'cancel', ...(reason === undefined ? {} : { reason }) };
  if (parts.compacting) {
    parts.compacting.isAborted = true;
    await parts.post(input);
  }
  if (parts.active) {
    const { control } = parts.active;
    giveUpStart(control, reason);
    if (await isBound(control)) await parts.post(input);
    return;
  }
  await refresh(parts);
  const hasRun = hasWork(parts);
  // Another process may be at a compaction.
  if (!hasRun && !parts.state.inbox.some(({ input: { type } }) => type === 'compact')) return;
  await parts.post(input);
  if (!hasRun) return;
  // Somebody has to close what was cancelled; when another process drives the session, it does.
  if (parts.active) return;
  const run = start(parts, (control) => goOnWith(parts, control));
  await run.outcome.catch((error: unknown) => {
    if (!isCode(error, 'session_busy') && !isCode(error, 'nothing_to_continue')) throw error;
  });
}

const isCode = (error: unknown, code: TreadleErrorCode): boolean =>
  error instanceof TreadleError && error.code === code;

/** Ends one run, and no other: after its end this does nothing. */
export async function abortRun(parts: SessionParts, control: RunControl, reason: string | undefined): Promise<void> {
  if (control.isOver()) return;
  giveUpStart(control, reason);
  if (!(await isBound(control)) || control.isOver()) return;
  await parts.post({ type: 'cancel', inputSeq: await control.bound(), ...(reason === undefined ? {} : { reason }) });
}

const isBound = (control: RunControl): Promise<boolean> =>
  control.bound().then(
    () => true,
    () => false,
  );

/** What ends a start that waits for the first message of a stream. */
const starts = new WeakMap<RunControl, (reason?: string) => void>();

const giveUpStart = (control: RunControl, reason: string | undefined): void => starts.get(control)?.(reason);

export async function replaceMessages(parts: SessionParts, messages: readonly Message[]): Promise<void> {
  refuseActive(parts);
  await inTurn(parts, async () => {
    await foldNews(parts);
    if (hasWork(parts)) {
      throw new TreadleError('run_active', 'A run of this session is open. Resume it or abort() it first.');
    }
    if (parts.state.run) await driveHere(parts, async () => {}, CLOSED_INPUT);
    // What was queued was meant for the conversation that goes: the log says that nobody will deliver it.
    if (parts.state.inbox.some(({ input }) => QUEUED.has(input.type))) await parts.post({ type: 'clear_queue' });
    await parts.post({ type: 'import', messages });
    await foldNews(parts);
  });
}

const QUEUED: ReadonlySet<string> = new Set(['steering', 'follow_up']);

/** Forgets the conversation: for hooks the session ends and begins again. */
export async function reset(parts: SessionParts): Promise<void> {
  await replaceMessages(parts, []);
  await endSession(parts, 'clear');
  parts.opened = 'clear';
}

/** Waits for what is going on, then tells the hooks that nobody will use the session here any more. */
export async function close(parts: SessionParts, reason: string): Promise<void> {
  parts.expiry?.stop();
  const named = parts.titler?.stop();
  while (parts.active) await parts.active.ended;
  await named;
  await parts.hold.settle();
  await endSession(parts, reason);
}

/** @throws TreadleError `run_active` when a run is driven here. */
export function refuseDriven({ active }: SessionParts): void {
  if (!active) return;
  throw new TreadleError(
    'run_active',
    'A run is active in this session. Use steer() to tell it something now, followUp() for when it would end, or wait for its result.',
  );
}

export function refuseActive(parts: SessionParts): void {
  refuseDriven(parts);
  refusePaused(parts);
}

function refusePaused({ state }: SessionParts): void {
  if (state.run?.isForked || !waitsForOthers(state.run?.turn)) return;
  throw new TreadleError(
    'run_active',
    'A run of this session is paused. Give it the results or the answer it waits for, or abort() it first.',
  );
}

function refuseContinue({ view, run }: SessionState): void {
  // Results of the calls that a fork has cut off are still to come; the plan looks again.
  if (run?.isForked) return;
  const last = view.findLast(({ role }) => role !== 'extension');
  if (!last) throw new TreadleError('nothing_to_continue', 'The history is empty. Use prompt() to start.');
  if (last.role !== 'assistant') return;
  throw new TreadleError(
    'ends_with_assistant',
    "The history ends with the assistant's message. Use prompt() to say what is next.",
  );
}

/** After the claim: a run whose process died makes room for the new one; a paused one doesn't. */
export async function makeRoom(parts: SessionParts): Promise<void> {
  const { run } = parts.state;
  // What a fork has cut off is closed before anything else begins.
  if (!run || run.isForked) return;
  refusePaused(parts);
  await parts.post({
    type: 'cancel',
    inputSeq: run.inputSeq,
    reason: 'The process that drove this run is gone, and a new run took its place.',
  });
}

interface StartOptions {
  readonly input?: OpenInput;
  /** Ends a `begin` that waits for somebody; does nothing when it is over. */
  readonly giveUp?: (reason?: string) => void;
}

export const CLOSED_INPUT: OpenInput = { isOpen: false, onClose: () => {} };

/**
 * Hands out a run and drives the session until it is idle or paused. `begin` is called once the session is ours: it
 * posts, and binds the run to its input.
 */
export function start(
  parts: SessionParts,
  begin: (control: RunControl) => Promise<void>,
  { input = CLOSED_INPUT, giveUp }: StartOptions = {},
): Run {
  const { journal, sessionId, hub } = parts;
  const control: RunControl = createRun({
    read: (from) => journal.read(sessionId, from),
    openMessage: () => hub.openMessage(),
    abort: (reason) => abortRun(parts, control, reason),
  });
  if (giveUp) starts.set(control, giveUp);
  const ended = inTurn(parts, async () => {
    hub.follow(control);
    try {
      await driveHere(parts, () => begin(control), input);
      await parts.afterDrive?.();
    } finally {
      hub.follow(null);
    }
  }).then(
    () => {
      letGo();
      control.finish();
      parts.expiry?.arm();
      parts.titler?.ask();
    },
    (error: unknown) => {
      letGo();
      control.finish(error);
      parts.expiry?.arm();
      // The run had ended meanwhile, elsewhere: what its process still owed is owed here.
      if (isCode(error, 'nothing_to_continue')) parts.titler?.ask();
    },
  );
  // Another one may be waiting for its turn by then.
  const letGo = (): void => {
    if (parts.active?.control === control) parts.active = null;
  };
  parts.active = { control, ended };
  return control.run;
}

export async function driveHere(parts: SessionParts, begin: () => Promise<void>, input: OpenInput): Promise<void> {
  const { state } = parts;
  let first = begin;
  for (;;) {
    const { drivenBy } = state;
    const { opened } = parts;
    parts.opened = null;
    try {
      await drive(parts, { drivenBy, opened, begin: first, input });
    } catch (error) {
      if (isCode(error, 'fenced')) parts.hold.lose();
      throw error;
    }
    // Handed over, with something left to do: the other agent goes on.
    if (state.drivenBy === drivenBy || parts.hold.yielding.aborted || !hasWork(parts)) return;
    first = async () => {};
  }
}
