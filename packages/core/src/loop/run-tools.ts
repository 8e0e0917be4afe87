import { DEFAULT_CONCURRENCY } from '../agent.ts';
import { RECALL } from '../context/recall.ts';
import type { DurableEventBody } from '../events/events.ts';
import { copyJson, type JsonObject } from '../json.ts';
import { checkArguments, executeTool, issuesText } from '../tools/execute.ts';
import type { NormalOutput } from '../tools/output.ts';
import type { ArgumentsOutcome, Tool } from '../tools/tool.ts';
import { runOf, type PerformContext } from './context.ts';
import { checkpointer } from './checkpoint.ts';
import { decide } from './decide.ts';
import { afterQuestions } from './plan-gates.ts';
import { callKey } from './call-key.ts';
import { CHILD_GRACE_MS, childExecution, childFacts, childOf, pausedEvent } from './run-children.ts';
import type { Step } from './step.ts';
import { updateHooks } from './update-hooks.ts';
import { wantsBackground } from '../tasks/background.ts';
import { startPending, toBackground } from './run-tasks.ts';
import type { CallState, SessionState } from './state.ts';

interface ToolJob {
  readonly call: CallState;
  readonly tool: Tool;
  readonly args: unknown;
}

interface TurnPlace {
  readonly runId: string;
  readonly turnIndex: number;
}

/** Runs a group of calls, so many at a time, and records each one's start before it runs and its end after. */
export async function runTools(context: PerformContext, step: Extract<Step, { type: 'run_tools' }>): Promise<void> {
  const place: TurnPlace = { runId: runOf(context.state).runId, turnIndex: step.turnIndex };
  const checks = checkAll(context, step.calls);
  // Most are checked at once: then nothing waits for them.
  const jobs = checks.every(isFit) ? checks.map(jobOf) : await checkedJobs(context, place, checks);
  const running = new Map<string, { readonly call: CallState; readonly since: number }>();
  const stopReports = reportElapsed(context, place, running);
  const { toolExecution } = context.agent;
  const most = toolExecution.mode === 'parallel' ? (toolExecution.concurrency ?? DEFAULT_CONCURRENCY) : jobs.length;
  const first = jobs.slice(0, most);
  let next = first.length;
  // What starts at the same time is recorded as one.
  const start = async (starting: readonly ToolJob[]): Promise<void> => {
    // A call that wasn't started when the run was interrupted never is: the plan answers it.
    if (context.interrupt.fired() !== null || starting.length === 0) return;
    const startedAt = context.clock.now();
    const [only, another] = starting;
    const isAlone = only !== undefined && another === undefined;
    await context.log.record(
      isAlone
        ? startEvents(context, place, only, startedAt)
        : starting.flatMap((job) => startEvents(context, place, job, startedAt)),
    );
    if (starting.some(({ call }) => wantsBackground(context.agent.background, call))) await startPending(context);
    if (isAlone) await work(only, startedAt);
    else await Promise.all(starting.map((job) => work(job, startedAt)));
  };
  const work = async (job: ToolJob, startedAt: number): Promise<void> => {
    running.set(job.call.callId, { call: job.call, since: startedAt });
    await runJob(context, place, job, startedAt);
    running.delete(job.call.callId);
    const following = jobs[next++];
    if (following) await start([following]);
  };
  try {
    await start(first);
  } finally {
    stopReports();
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

const jobOf = ({ call, tool, checked }: FitCheck): ToolJob => ({ call, tool, args: checked.value });

function checkAll(context: PerformContext, calls: readonly CallState[]): readonly Check[] {
  const checks: Check[] = [];
  for (const call of calls) {
    const tool = context.agent.tools.get(call.name);
    // A copy, for what a tool does to its arguments must not change the history.
    if (tool) checks.push({ call, tool, checked: checkInTime(context, tool, copyJson(call.arguments)) });
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
      jobs.push({ call, tool, args: outcome.value });
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
  const checked = checkArguments(tool, args);
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
    ? [started, ...toBackground(state, place, job.call, job.tool, at)]
    : [started];
}

function startedEvent(
  state: SessionState,
  place: TurnPlace,
  { call, tool, args }: ToolJob,
  at: number,
): DurableEventBody {
  const child = childOf(state, call, tool, args);
  return {
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
    ...(child === null ? {} : { childSessionId: child }),
    ...(tool.runs === 'client' && tool.timeoutMs !== undefined ? { expiresAt: at + tool.timeoutMs } : {}),
  };
}

async function runJob(
  context: PerformContext,
  place: TurnPlace,
  { call, tool, args }: ToolJob,
  startedAt: number,
): Promise<void> {
  const { state, clock, log, agent, blobs } = context;
  const named = { callId: call.callId, toolName: call.name };
  const idempotencyKey = callKey(state, call);
  // The client runs it: the plan pauses for its result once all else is done.
  if (tool.runs === 'client') return;
  if (wantsBackground(agent.background, call)) {
    if (agent.hooks) await tellAfter(context, call.callId);
    return;
  }
  const updates = updateHooks(context, place.runId, call.name);
  const childSessionId = childOf(state, call, tool, args);
  const child =
    childSessionId === null ? null : childExecution(context, tool, { turnIndex: place.turnIndex, childSessionId });
  const checkpoint = checkpointer(context, { ...place, callId: call.callId });
  const output = await executeTool({
    tool: child ? { ...tool, execute: child.execute } : tool,
    args,
    facts: {
      sessionId: state.sessionId,
      runId: place.runId,
      ...named,
      idempotencyKey,
      readHistory: context.readHistory,
      ...(context.tasks === null ? {} : { tasks: context.tasks.control }),
      ...(blobs ? { blobs: blobs.store } : {}),
      ...(checkpoint ? { checkpoint } : {}),
    },
    // A sub-agent has limits of its own.
    timeoutMs: tool.timeoutMs ?? (child ? undefined : agent.toolTimeoutMs),
    ...(child ? { graceMs: CHILD_GRACE_MS } : {}),
    keeper: blobs,
    canRecall: agent.tools.has(RECALL),
    maxLength: agent.maxToolResultLength,
    clock,
    onInterrupt: (stop) => context.interrupt.on(stop),
    update: ({ content, details }) => {
      const more = details === undefined ? {} : { details };
      const show = (): void =>
        context.emit({ type: 'tool_update', afterSeq: state.seq, ...place, ...named, content, ...more });
      if (updates) updates.take({ ...named, content }, show);
      else show();
    },
    progress: (text) => {
      const elapsedMs = clock.now() - startedAt;
      context.emit({ type: 'tool_progress', afterSeq: state.seq, ...place, ...named, text, elapsedMs });
    },
  });
  await updates?.settled();
  const outcome = child?.outcome() ?? null;
  if (outcome?.type === 'paused' && childSessionId !== null) {
    await log.record([pausedEvent(place, { ...place, ...named, childSessionId }, outcome, clock.now())]);
    return;
  }
  const ended = endedEvent(place, named, output, startedAt, clock.now());
  await log.record([child ? { ...ended, ...childFacts(outcome) } : ended]);
  if (agent.hooks) await tellAfter(context, call.callId);
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
  place: TurnPlace,
  named: { readonly callId: string; readonly toolName: string },
  output: NormalOutput,
  startedAt: number,
  at: number,
): DurableEventBody {
  const { runId, turnIndex } = place;
  const { callId, toolName } = named;
  const { content, isError, details, files } = output;
  const durationMs = at - startedAt;
  const type = 'tool_ended';
  const ended = { type, at, runId, turnIndex, callId, toolName, content, isError, durationMs } as const;
  if (details === undefined && files === undefined) return ended;
  return {
    ...ended,
    ...(details === undefined ? {} : { details }),
    ...(files === undefined ? {} : { files }),
  };
}

/** Says how long slow calls have been running, at the agent's interval. Returns a function that stops it. */
function reportElapsed(
  { clock, agent, state, emit, observed }: PerformContext,
  place: TurnPlace,
  running: ReadonlyMap<string, { readonly call: CallState; readonly since: number }>,
): () => void {
  let cancel = (): void => {};
  const report = (): void => {
    for (const { call, since } of observed() ? running.values() : []) {
      const named = { callId: call.callId, toolName: call.name };
      emit({ type: 'tool_progress', afterSeq: state.seq, ...place, ...named, elapsedMs: clock.now() - since });
    }
    schedule();
  };
  const schedule = (): void => {
    cancel = clock.after(agent.toolProgressMs, report, { background: true });
  };
  schedule();
  return () => cancel();
}
