import type { DurableEventBody, SessionInput } from '../entries/events.ts';
import { type SessionState, type Step, initialState, reduce } from '../entries/kernel.ts';
import type { AssistantContent, JsonObject, JsonValue, RunStatus, StopReason, ToolCallBlock } from '../index.ts';

// Events of one session, `s`, and its first run, for tables of what follows from which log. Every event happens at 1,000.

export const AT = 1000;
const runId = 's.m.1';
const usage = { input: 10, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: null };

/** What an event is made of: fields that differ from the usual ones. */
type More = Readonly<Record<string, unknown>>;

/** An event of the run. Rows are checked by the folds, so fields that a row adds need no types. */
const event = (type: DurableEventBody['type'], fields: More): DurableEventBody =>
  ({ type, at: AT, ...fields }) as unknown as DurableEventBody;

export const inRun = (type: DurableEventBody['type'], fields: More = {}): DurableEventBody =>
  event(type, { runId, ...fields });

export const created = event('session_created', { eventVersion: 1, sessionId: 's' });
export const drive = (epoch: number, at = AT): DurableEventBody => event('drive_started', { epoch, owner: 'test', at });

const words = (text: string) => [{ type: 'text' as const, text }];

export const posted = (input: SessionInput, at = AT): DurableEventBody =>
  event('input_received', { key: 'k', input, at });
export const prompt = (text: string, more: More = {}): DurableEventBody =>
  posted({ type: 'prompt', messages: [{ content: words(text) }], ...more });
export const steering = (text: string): DurableEventBody =>
  posted({ type: 'steering', message: { content: words(text) } });
export const followUp = (text: string): DurableEventBody =>
  posted({ type: 'follow_up', message: { content: words(text) } });
export const cancel = (more: More = {}): DurableEventBody => posted({ type: 'cancel', ...more });

export const runStarted = (more: More = {}): DurableEventBody =>
  inRun('run_started', {
    agentId: 'agent',
    continuation: { kind: 'initial' },
    configSegment: 'm',
    ordinal: 1,
    config: { provider: 'scripted', model: 'scripted', configId: 'm', tools: [], limits: {} },
    startedBy: 'user',
    inputSeq: 3,
    ...more,
  });
export const runEnded = (end: RunStatus, more: More = {}): DurableEventBody =>
  inRun('run_ended', { end, stopReason: 'stop', usage, cost: 1, turns: 1, ...more });
export const turnStarted = (turnIndex: number, more: More = {}): DurableEventBody =>
  inRun('turn_started', { turnIndex, triggeredBy: 'user', attempt: 1, ...more });
export const turnEnded = (turnIndex: number, more: More = {}): DurableEventBody =>
  inRun('turn_ended', { turnIndex, usage, cost: 1, ...more });

export const userMessage = (origin: string, text: string, more: More = {}): DurableEventBody =>
  inRun('message_added', {
    inView: true,
    message: { role: 'user', id: `${origin} ${text}`, at: AT, origin, content: words(text) },
    ...more,
  });

export const call = (callId: string, name: string, more: Partial<ToolCallBlock> = {}): ToolCallBlock => ({
  type: 'tool_call',
  callId,
  name,
  arguments: {},
  ...more,
});

/** A reply of the model: texts and calls. It has used 12 tokens and cost a dollar. */
export function reply(
  content: readonly (string | AssistantContent)[],
  more: More & { readonly stopReason?: StopReason } = {},
): DurableEventBody {
  const blocks = content.map((part) => (typeof part === 'string' ? { type: 'text' as const, text: part } : part));
  const stopReason = blocks.some(({ type }) => type === 'tool_call') ? 'tool_use' : 'stop';
  const message = {
    role: 'assistant',
    id: 'reply',
    at: AT,
    provider: 'scripted',
    model: 'scripted',
    content: blocks,
    stopReason,
    usage,
    cost: 1,
    ...more,
  };
  return inRun('message_added', { inView: true, message });
}

const ofCall = (type: DurableEventBody['type'], callId: string, toolName: string, more: More): DurableEventBody =>
  inRun(type, { turnIndex: 0, callId, toolName, ...more });

export const toolStarted = (callId: string, toolName: string, more: More = {}): DurableEventBody =>
  ofCall('tool_started', callId, toolName, {
    arguments: {},
    idempotencyKey: callId,
    replay: 'never',
    runs: 'server',
    attempt: 1,
    ...more,
  });
export const toolEnded = (callId: string, toolName: string, more: More = {}): DurableEventBody =>
  ofCall('tool_ended', callId, toolName, {
    content: words(`result of ${callId}`),
    isError: false,
    durationMs: 1,
    ...more,
  });
export const toolRejected = (callId: string, toolName: string, reason: string): DurableEventBody =>
  ofCall('tool_call_rejected', callId, toolName, { reason, content: words('Not executed.') });
export const approvalRequested = (callId: string, toolName: string, more: More = {}): DurableEventBody =>
  ofCall('approval_requested', callId, toolName, {
    approvalId: `ask ${callId}`,
    arguments: {},
    question: '?',
    ...more,
  });

/** A decision that is in the log. A key that names no call of the turn is of the run. */
export const decided = (kind: string, key: string, decision: JsonValue, more: More = {}): DurableEventBody =>
  inRun('decision_made', { kind, key, decision, ...more });
export const proceed = (key: string, more: More = {}): DurableEventBody =>
  decided('hook', key, { decision: 'proceed' }, more);

export const task = (taskId: string, status: string, more: More = {}): DurableEventBody =>
  inRun('task_updated', { taskId, status, ...more });
/** The first event of a task: the call it is of. */
export const taskBegun = (taskId: string): DurableEventBody =>
  task(taskId, 'pending', {
    task: { turnIndex: 0, callId: 'c1', toolName: 'read', arguments: {}, idempotencyKey: taskId, replay: 'never' },
  });
export const taskEnded = (taskId: string): DurableEventBody =>
  posted({ type: 'task_ended', taskId, status: 'completed', content: words('All built.') });

/** The usual beginnings. What is posted after `begun` is event 7, after `replied` event 8. */
export const opened = [created, drive(1)];
export const asked = [...opened, prompt('Hi')];
export const started = [...asked, runStarted()];
export const begun = [...started, turnStarted(0), userMessage('prompt', 'Hi', { inputSeq: 3 })];
export const replied = (...content: readonly (string | AssistantContent)[]): DurableEventBody[] => [
  ...begun,
  reply(content),
];

/** The state that a log folds to. Its events are numbered from 1. */
export function stateOf(events: readonly DurableEventBody[]): SessionState {
  const state = initialState('s');
  for (const [index, body] of events.entries()) reduce(state, { ...body, seq: index + 1 });
  return state;
}

const textOf = (content: readonly { readonly type: string }[]): string =>
  content.map((block) => (block.type === 'text' ? (block as { readonly text?: string }).text : block.type)).join(' ');

/** A step in short: its type, and what it is about; of a record, each of its events. */
export function inShort(step: Step): string | readonly string[] {
  switch (step.type) {
    case 'record':
      return step.events.map(eventInShort);
    case 'call_model':
      return `call_model ${step.turnIndex}.${step.attempt}${step.money ? ` for ${step.money.maxTokens} tokens` : ''}`;
    case 'run_tools':
    case 'stop_children':
      return `${step.type} ${step.calls.map(({ callId }) => callId).join(' ')}`;
    case 'decide':
      return `ask ${step.questions.map(({ key }) => key).join(' ')}`;
    case 'wait':
      return step.until === null ? 'wait' : `wait until ${step.until}`;
    case 'compact':
      return `compact ${step.trigger}`;
    case 'keep_files':
      return `keep_files ${step.files.map(({ fileId }) => fileId).join(' ')}`;
    case 'start_tasks':
    case 'stop_tasks':
      return `${step.type} ${step.tasks.map(({ taskId }) => taskId).join(' ')}`;
    case 'adopt_branch':
      return `adopt_branch ${step.selectedIndex}`;
    case 'run_branches':
    case 'idle':
      return step.type;
  }
}

function eventInShort(body: DurableEventBody): string {
  const { type } = body;
  switch (type) {
    case 'message_added':
      return body.message.role === 'user' ? `${body.message.origin}: ${textOf(body.message.content)}` : 'message';
    case 'turn_started': {
      const { turnIndex, attempt, closing, modelIndex } = body;
      const asking = modelIndex === undefined ? '' : ` model ${modelIndex}`;
      return `turn_started ${turnIndex}${attempt === 1 ? '' : `.${attempt}`}${asking}${closing ? ' closing' : ''}`;
    }
    case 'run_ended':
      return `run_ended ${body.status}`;
    case 'run_paused':
      return `run_paused ${body.reason}`;
    case 'input_rejected':
      return `input_rejected ${body.inputSeq}`;
    case 'tool_started':
    case 'tool_ended':
      return `${type} ${body.callId}${body.skipped ? ' skipped' : ''}`;
    case 'tool_call_rejected':
      return `tool_call_rejected ${body.callId} ${body.reason}`;
    case 'approval_requested':
      return `approval_requested ${body.callId}`;
    case 'approval_answered':
      return `approval_answered ${body.decision}`;
    case 'task_updated':
      return `task_updated ${body.taskId} ${body.status}`;
    case 'budget_settled':
      return `budget_settled ${body.basis}`;
    default:
      return type;
  }
}

/** A decision that a call may run. */
export const allowed = (callId: string, more: JsonObject = {}): DurableEventBody =>
  decided(
    'permission',
    `permission:${callId}`,
    { outcome: 'allow', by: { type: 'person' }, reason: '', ...more },
    { turnIndex: 0, callId },
  );
