import type { DurableEventBody } from '../../events/events.ts';
import { copyJson } from '../../json.ts';
import { startedText, taskIdOf } from './delivery.ts';
import { hasEnded } from '../../tools/task-control.ts';
import { openTasks, type TaskState } from './task.ts';
import type { TaskFacts, TaskWatch } from '../../ports/task-runner.ts';
import { checkArguments, executeTool, issuesText } from '../../tools/execute.ts';
import { errorOutput, type NormalOutput } from '../../tools/output.ts';
import type { Tool } from '../../tools/tool.ts';
import { callKey } from '../../kernel/perform/call-key.ts';
import type { PerformContext } from '../../kernel/context.ts';
import { mayRecall } from '../../kernel/services/context-window.ts';
import { interrupted, planTasks, updated } from './plan.ts';
import type { CallState, SessionState } from '../../kernel/state.ts';

/** The call's result, and the task that is to be begun: in the log before anything is. */
export function toBackground(
  state: SessionState,
  { runId, turnIndex }: { readonly runId: string; readonly turnIndex: number },
  call: CallState,
  tool: Tool,
  at: number,
  isConfined: boolean,
): readonly DurableEventBody[] {
  const { callId, name: toolName } = call;
  const taskId = taskIdOf(callId);
  const task = {
    turnIndex,
    callId,
    toolName,
    arguments: call.arguments,
    idempotencyKey: callKey(state, call),
    ...(isConfined && { confined: true }),
  };
  return [
    { type: 'task_updated', at, taskId, status: 'pending', runId, task: { ...task, replay: tool.replay } },
    {
      type: 'tool_ended',
      at,
      runId,
      turnIndex,
      callId,
      toolName,
      content: [{ type: 'text', text: startedText({ taskId, toolName }) }],
      isError: false,
      details: { taskId, status: 'pending' },
      durationMs: 0,
    },
  ];
}

/** Begins what waits, as far as there is room for it. */
export async function startPending(context: PerformContext): Promise<void> {
  const { state, agent, clock } = context;
  const step = planTasks(state, agent, clock.now());
  if (step?.type === 'start_tasks') await startTasks(context, step.tasks);
}

/** The log has that a task runs before it does. */
export async function startTasks(context: PerformContext, tasks: readonly TaskState[]): Promise<void> {
  const { log, clock, tasks: desk } = context;
  if (desk === null) return;
  // Calls that begin at the same moment must not begin each other's tasks.
  const mine = tasks.filter(({ taskId }) => desk.reserve(taskId));
  if (mine.length === 0) return;
  try {
    const at = clock.now();
    await log.record(mine.map((task) => updated(task, 'running', at, null, { attempt: task.attempt + 1 })));
    for (const task of mine) {
      // It may have been ended meanwhile.
      if (task.status !== 'running') continue;
      const facts = factsOf(context.state, task);
      desk.start({ ...facts, execute: (watch) => execute(context, facts, watch) });
    }
  } finally {
    for (const { taskId } of mine) desk.free(taskId);
  }
}

const factsOf = ({ sessionId }: SessionState, task: TaskState): TaskFacts => {
  const { taskId, runId, callId, toolName, arguments: args, idempotencyKey, attempt, confined } = task;
  const facts = { taskId, sessionId, runId, callId, toolName, arguments: args, idempotencyKey, attempt };
  return confined === true ? { ...facts, confined } : facts;
};

async function execute(context: PerformContext, facts: TaskFacts, watch: TaskWatch): Promise<NormalOutput> {
  const { agent, clock, tasks, blobs } = context;
  const { children } = context.services;
  const tool = agent.tools.get(facts.toolName);
  if (!tool) return errorOutput(`There is no tool ${facts.toolName} any more.`);
  const checked = await checkArguments(tool, copyJson(facts.arguments), agent.validator);
  if (!checked.ok) return errorOutput(issuesText(tool, checked.issues));
  const { arguments: _, attempt: __, ...told } = facts;
  const session = children.childIn(facts.sessionId, facts.callId, tool, checked.value);
  const child =
    session === null
      ? null
      : children.childExecution(context, tool, { turnIndex: 0, childSessionId: session, isBackground: true });
  return executeTool({
    tool: child ? { ...tool, execute: children.inBackground(child) } : tool,
    args: checked.value,
    facts: {
      ...told,
      context: context.appContext,
      readHistory: context.readHistory,
      lastRead: (path) => context.services.lastRead(context.state, path),
      ...(tasks === null ? {} : { tasks: tasks.control }),
      ...(blobs ? { blobs: blobs.store } : {}),
    },
    keeper: blobs,
    canRecall: mayRecall(agent),
    timeoutMs: agent.background?.timeoutMs,
    ...(child ? { graceMs: children.graceMs } : {}),
    maxLength: agent.maxToolResultLength,
    clock,
    interrupt: { on: (stop) => watch.onStop(stop) },
    update: (partial) => watch.update(partial),
    progress: (text) => watch.progress(text),
  });
}

/** Ends tasks, and waits until that is in the log. */
export async function stopTasks(
  { log, clock, tasks: desk }: PerformContext,
  tasks: readonly TaskState[],
): Promise<void> {
  const reasons = new Map(tasks.map(({ taskId, stopping }) => [taskId, stopping ?? 'It was cancelled.']));
  await Promise.all([...reasons].map(([taskId, reason]) => desk?.stop(taskId, reason)));
  await log.catchUp();
  // What can't be ended is given up: its end, should it come, is ignored.
  const left = tasks.filter(({ status }) => !hasEnded(status));
  const events = left.map((task) => updated(task, 'killed', clock.now(), reasons.get(task.taskId)));
  if (events.length > 0) await log.record(events);
}

/** A drive begins: what earlier processes had in the background is found again, or its replay policy says what comes of it. */
export async function reviveTasks({ state, agent, log, clock, tasks: desk }: PerformContext): Promise<void> {
  const cutOff: DurableEventBody[] = [];
  for (const task of state.tasks ? openTasks(state.tasks) : []) {
    if (hasEnded(task.status)) continue;
    const isKnown = agent.background !== null && agent.tools.has(task.toolName);
    if (task.status === 'pending' ? isKnown : desk?.isHere(task.taskId) === true) continue;
    const found = task.status === 'pending' || !desk ? 'gone' : await desk.attach(factsOf(state, task));
    if (found !== 'here') cutOff.push(interrupted(task, isKnown && found === 'gone', clock.now()));
  }
  if (cutOff.length > 0) await log.record(cutOff);
}
