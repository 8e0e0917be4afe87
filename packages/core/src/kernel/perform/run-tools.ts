import {
  afterQuestions,
  isConfined,
  CHILD_GRACE_MS,
  checkpointer,
  childExecution,
  childFacts,
  childOf,
  pausedEvent,
  questionEvent,
  updateHooks,
  wantsBackground,
  lastRead,
  policyOf,
  startPending,
  toBackground,
} from '../features.ts';
import { DEFAULT_CONCURRENCY } from '../../agent/agent.ts';
import { windowOf, mayRecall } from '../services/context-window.ts';
import { resultTokens } from '../../messages/result-limits.ts';
import type { Draft } from '../../draft.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { copyJson, type JsonObject } from '../../json.ts';
import type { Model } from '../../model/model.ts';
import { checkArguments, executeTool, issuesText, type Execution } from '../../tools/execute.ts';
import type { NormalOutput } from '../../tools/output.ts';
import type { ArgumentsOutcome, Tool } from '../../tools/tool.ts';
import { runOf, type PerformContext } from '../context.ts';
import { decide } from '../services/decide.ts';
import { warnUnchecked } from '../services/unchecked-patterns.ts';
import { callKey } from './call-key.ts';
import type { Step } from '../step.ts';
import type { CallState, SessionState } from '../state.ts';

interface ToolJob {
  readonly call: CallState;
  readonly tool: Tool;
  readonly args: unknown;
  /** When it began, while it runs. */
  since: number | null;
}

interface TurnPlace {
  readonly runId: string;
  readonly turnIndex: number;
}

/** Calls that are done side by side, so many at a time. */
interface Group extends TurnPlace {
  readonly jobs: readonly ToolJob[];
  /** The first that nobody has begun. */
  next: number;
}

/** Runs a group of calls, so many at a time, and records each one's start before it runs and its end after. */
export async function runTools(context: PerformContext, step: Extract<Step, { type: 'run_tools' }>): Promise<void> {
  const { runId } = runOf(context.state);
  const { turnIndex } = step;
  const checks = checkAll(context, step.calls);
  // Most are checked at once: then nothing waits for them.
  const jobs = checks.every(isFit) ? checks.map(jobOf) : await checkedJobs(context, { runId, turnIndex }, checks);
  const { toolExecution } = context.agent;
  const most = toolExecution.mode === 'parallel' ? (toolExecution.concurrency ?? DEFAULT_CONCURRENCY) : jobs.length;
  const first = jobs.length <= most ? jobs : jobs.slice(0, most);
  const group: Group = { runId, turnIndex, jobs, next: first.length };
  context.toolProgress.watch(group);
  try {
    const startedAt = await begin(context, group, first);
    if (startedAt === null) return;
    const [only] = first;
    if (only && first.length === 1) await runFrom(context, group, only, startedAt);
    else await Promise.all(first.map((job) => runFrom(context, group, job, startedAt)));
  } finally {
    context.toolProgress.rest();
  }
}

/** Records that these start, as one; null when they don't: what wasn't started before an interrupt is answered by the plan. */
async function begin(context: PerformContext, place: TurnPlace, jobs: readonly ToolJob[]): Promise<number | null> {
  const { agent, clock, interrupt, log, hold } = context;
  if (interrupt.fired() !== null || hold.yielding.aborted || jobs.length === 0) return null;
  const startedAt = clock.now();
  const [only] = jobs;
  const events =
    only && jobs.length === 1
      ? startEvents(context, place, only, startedAt)
      : jobs.flatMap((job) => startEvents(context, place, job, startedAt));
  await log.record(events);
  if (agent.background !== null && jobs.some(({ call }) => wantsBackground(agent.background, call)))
    await startPending(context);
  return startedAt;
}

/** Runs a call that has begun, and then, one after the other, those that nobody else has. */
async function runFrom(context: PerformContext, group: Group, first: ToolJob, firstAt: number): Promise<void> {
  let job: ToolJob | undefined = first;
  for (let startedAt: number | null = firstAt; job && startedAt !== null;) {
    job.since = startedAt;
    await runJob(context, group, job, startedAt);
    job.since = null;
    job = group.jobs[group.next++];
    if (job) startedAt = await begin(context, group, [job]);
  }
}

/** A call whose arguments are being checked: null when it was given up. */
interface Check {
  readonly call: CallState;
  readonly tool: Tool;
  readonly checked: ArgumentsOutcome | null | Promise<ArgumentsOutcome | null>;
}

interface FitCheck extends Check {
  readonly checked: Extract<ArgumentsOutcome, { ok: true }>;
}

const isFit = (check: Check): check is FitCheck => !(check.checked instanceof Promise) && check.checked?.ok === true;

const jobOf = ({ call, tool, checked }: FitCheck): ToolJob => ({ call, tool, args: checked.value, since: null });

function checkAll(context: PerformContext, calls: readonly CallState[]): readonly Check[] {
  const checks: Check[] = [];
  for (const call of calls) {
    const tool = context.agent.tools.get(call.name);
    if (!tool) continue;
    // A copy, for what a tool does to its arguments must not change the history.
    const checked = checkInTime(context, tool, copyJson(call.arguments));
    checks.push({ call, tool, checked });
    if (!(checked instanceof Promise) && checked) warnUnchecked(context, `tool ${call.name}`, checked);
  }
  return checks;
}

/** Checks all arguments first; calls that fail are answered together, and never start. */
async function checkedJobs(context: PerformContext, place: TurnPlace, checks: readonly Check[]): Promise<ToolJob[]> {
  const jobs: ToolJob[] = [];
  const rejected: DurableEventBody[] = [];
  for (const { call, tool, checked } of checks) {
    const outcome = checked instanceof Promise ? await checked : checked;
    // Interrupted: the plan answers the call.
    if (outcome === null) continue;
    if (outcome.ok) {
      jobs.push({ call, tool, args: outcome.value, since: null });
      continue;
    }
    const at = context.clock.now();
    const named = { callId: call.callId, toolName: call.name };
    const content = [{ type: 'text' as const, text: issuesText(tool, outcome.issues) }];
    rejected.push({ type: 'tool_call_rejected', at, ...place, ...named, reason: 'invalid_arguments', content });
  }
  if (rejected.length > 0) await context.log.record(rejected);
  return jobs;
}

/** A check that hangs must not hang the run: the tool's timeout fails it, an interrupt gives it up (null). */
function checkInTime(
  { agent, clock, interrupt }: PerformContext,
  tool: Tool,
  args: JsonObject,
): ArgumentsOutcome | null | Promise<ArgumentsOutcome | null> {
  const checked = checkArguments(tool, args, agent.validator);
  if (!(checked instanceof Promise)) return checked;
  return new Promise((resolve) => {
    const timeoutMs = tool.timeoutMs ?? agent.toolTimeoutMs;
    const late = {
      ok: false as const,
      issues: [{ path: '', message: `checking them took more than ${timeoutMs} ms` }],
    };
    let forget = (): void => {};
    const cancel = timeoutMs === undefined ? () => {} : clock.after(timeoutMs, () => settle(late));
    const settle = (outcome: ArgumentsOutcome | null): void => {
      cancel();
      forget();
      resolve(outcome);
    };
    forget = interrupt.on(() => settle(null));
    void checked.then(settle);
  });
}

/** A call in the background has ended as soon as it has begun: what is to be done is in the log by then. */
function startEvents(
  { state, agent }: PerformContext,
  place: TurnPlace,
  job: ToolJob,
  at: number,
): readonly DurableEventBody[] {
  const started = startedEvent(state, place, job, at);
  return wantsBackground(agent.background, job.call)
    ? [started, ...toBackground(state, place, job.call, job.tool, at, isConfined(state, job.call.callId))]
    : [started];
}

function startedEvent(
  state: SessionState,
  place: TurnPlace,
  { call, tool, args }: ToolJob,
  at: number,
): DurableEventBody {
  const child = childOf(state, call, tool, args);
  const started: Draft<Extract<DurableEventBody, { type: 'tool_started' }>> = {
    type: 'tool_started',
    at,
    runId: place.runId,
    turnIndex: place.turnIndex,
    callId: call.callId,
    toolName: call.name,
    arguments: call.arguments,
    idempotencyKey: callKey(state, call),
    replay: tool.replay,
    runs: tool.runs,
    attempt: call.attempt + 1,
  };
  if (isConfined(state, call.callId)) started.confined = true;
  if (child !== null) started.childSessionId = child;
  if (tool.runs === 'client' && tool.timeoutMs !== undefined) started.expiresAt = at + tool.timeoutMs;
  return started;
}

async function runJob(
  context: PerformContext,
  { runId, turnIndex }: TurnPlace,
  { call, tool, args }: ToolJob,
  startedAt: number,
): Promise<void> {
  const { state, clock, log, agent, blobs } = context;
  const { callId, name: toolName } = call;
  // The client runs it: the plan pauses for its result once all else is done.
  if (tool.runs === 'client') return;
  if (wantsBackground(agent.background, call)) {
    if (agent.hooks) await tellAfter(context, callId);
    return;
  }
  const updates = updateHooks(context, runId, toolName);
  const childSessionId = childOf(state, call, tool, args);
  const child = childSessionId === null ? null : childExecution(context, tool, { turnIndex, childSessionId });
  const output = await executeTool({
    tool: child ? { ...tool, execute: child.execute } : tool,
    args,
    facts: factsOf(context, { runId, turnIndex }, call),
    // A sub-agent has limits of its own.
    timeoutMs: tool.timeoutMs ?? (child ? undefined : agent.toolTimeoutMs),
    graceMs: child ? CHILD_GRACE_MS : undefined,
    keeper: blobs,
    canRecall: mayRecall(agent),
    maxLength: agent.maxToolResultLength,
    clock,
    interrupt: context.interrupt,
    update: ({ content, details }) => {
      const more = details === undefined ? {} : { details };
      const place = { afterSeq: state.seq, runId, turnIndex, callId, toolName };
      const show = (): void => context.emit({ type: 'tool_update', ...place, content, ...more });
      if (updates) updates.take({ callId, toolName, content }, show);
      else show();
    },
    progress: (text) => {
      const elapsedMs = clock.now() - startedAt;
      const place = { afterSeq: state.seq, runId, turnIndex, callId, toolName };
      context.emit({ type: 'tool_progress', ...place, text, elapsedMs });
    },
  });
  if (updates) await updates.settled();
  const place = { runId, turnIndex, callId, toolName };
  const outcome = child?.outcome() ?? null;
  // The next process finds the sub-agent where it stopped.
  if (outcome?.type === 'yielded') return;
  if (outcome?.type === 'paused' && childSessionId !== null) {
    await log.record([pausedEvent(place, { ...place, childSessionId }, outcome, clock.now())]);
    return;
  }
  if (output.ask && !child) {
    await log.record([questionEvent(place, call, output.ask, clock.now(), agent.permissions.answerTimeoutMs)]);
    return;
  }
  const ended = endedEvent(place, output, startedAt, clock.now());
  await log.record([child ? { ...ended, ...childFacts(outcome) } : ended]);
  if (agent.hooks) await tellAfter(context, callId);
}

/** The model whose calls these are. */
const modelAsked = ({ state: { run }, agent }: PerformContext): Model =>
  agent.models[run?.turn?.modelIndex ?? 0] ?? agent.model;

/** What a tool is told of its call. */
function factsOf(context: PerformContext, place: TurnPlace, call: CallState): Execution['facts'] {
  const { state, agent, tasks, blobs } = context;
  const facts: Draft<Execution['facts']> = {
    sessionId: state.sessionId,
    runId: place.runId,
    context: context.appContext,
    callId: call.callId,
    toolName: call.name,
    idempotencyKey: callKey(state, call),
    readHistory: context.readHistory,
    lastRead: (path) => lastRead(state, path),
    isDenied: (name) => policyOf(agent.permissions, state.permissions).removed.has(name),
    maxResultTokens: resultTokens(agent.maxToolResultTokens, windowOf(agent.context, modelAsked(context))),
  };
  if (state.shared) facts.state = state.shared;
  if (state.run?.metadata) facts.metadata = state.run.metadata;
  if (isConfined(state, call.callId)) facts.confined = true;
  if (call.answers) facts.answers = call.answers;
  if (tasks !== null) facts.tasks = tasks.control;
  if (blobs) facts.blobs = blobs.store;
  const checkpoint = blobs && checkpointer(context, { ...place, callId: call.callId });
  if (checkpoint) facts.checkpoint = checkpoint;
  return facts;
}

/** Hooks hear of a call as soon as it has ended, whatever the others of its turn do. */
async function tellAfter(context: PerformContext, callId: string): Promise<void> {
  const { state, agent } = context;
  const { run } = state;
  const call = run?.turn?.calls.find((each) => each.callId === callId);
  const questions = run?.turn && call ? afterQuestions(state, run, run.turn, agent, call) : [];
  if (questions.length > 0) await decide(context, questions);
}

function endedEvent(
  place: TurnPlace & { readonly callId: string; readonly toolName: string },
  output: NormalOutput,
  startedAt: number,
  at: number,
): DurableEventBody {
  const { runId, turnIndex, callId, toolName } = place;
  const { content, isError, details, files, reads, state } = output;
  const durationMs = at - startedAt;
  const type = 'tool_ended';
  const ended = { type, at, runId, turnIndex, callId, toolName, content, isError, durationMs } as const;
  return {
    ...ended,
    ...(details === undefined ? {} : { details }),
    ...(files === undefined ? {} : { files }),
    ...(reads === undefined ? {} : { reads }),
    ...(state === undefined ? {} : { state }),
  };
}
