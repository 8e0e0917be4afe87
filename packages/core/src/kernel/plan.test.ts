import { scriptedModel, transientMemory } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { DurableEventBody } from '../entries/events.ts';
import { plan } from '../entries/kernel.ts';
import { asTool, defineAgent, defineHook, defineTool, handoffTool, type AgentDefinition } from '../index.ts';
import {
  allowed,
  approvalRequested,
  asked,
  AT,
  begun,
  call,
  cancel,
  decided,
  drive,
  followUp,
  inRun,
  inShort,
  opened,
  posted,
  proceed,
  prompt,
  replied,
  reply,
  runEnded,
  runStarted,
  started,
  stateOf,
  steering,
  task,
  taskBegun,
  taskEnded,
  toolEnded,
  toolRejected,
  toolStarted,
  turnEnded,
  turnStarted,
  userMessage,
} from '../test-support/log-events.ts';

/** What follows from a log: the step, or the events that it records. */
interface Row {
  readonly name: string;
  readonly log: readonly DurableEventBody[];
  readonly agent?: Partial<AgentDefinition>;
  readonly around?: Partial<NonNullable<Parameters<typeof plan>[3]>>;
  /** Milliseconds; default 1,000, the time of all events. */
  readonly now?: number;
  readonly next: string | readonly string[];
}

const execute = () => '';
const model = scriptedModel([]);
const helper = defineAgent({ id: 'helper', model });
const TOOLS = [
  defineTool({ name: 'read', description: 'Reads.', readOnly: true, execute }),
  defineTool({ name: 'write', description: 'Writes.', approval: 'always', execute }),
  defineTool({ name: 'ordered', description: 'One by one.', approval: 'always', execution: 'sequential', execute }),
  defineTool({ name: 'pick', description: 'Runs at the client.', runs: 'client' }),
  defineTool({ name: 'finish', description: 'Ends the run.', endsRun: true, execute }),
  handoffTool('helper', { description: 'Hands over.' }),
  asTool(helper, { name: 'delegate', description: 'Delegates.' }),
];

function rows(title: string, table: readonly Row[]): void {
  describe(title, () => {
    it.each(table)('$name', ({ log, agent = {}, around, now = AT, next }) => {
      const surroundings = { isInputOpen: false, isInterrupted: false, keepsBlobs: false, ...around };
      const step = plan(stateOf(log), defineAgent({ model, configId: 'm', tools: TOOLS, ...agent }), now, surroundings);
      expect(inShort(step)).toEqual(next);
    });
  });
}

const hook = (...events: readonly Parameters<typeof defineHook>[0][]): Partial<AgentDefinition> => ({
  hooks: events.map((event) => defineHook(event, () => undefined)),
});

const continued = posted({ type: 'continue', continuation: { kind: 'default' } });
const compactWish = posted({ type: 'compact' });
const over = [...replied('Hello.'), turnEnded(0), runEnded('completed')];

rows('without an open run', [
  { name: 'nothing posted: nothing to do', log: opened, next: 'idle' },
  {
    name: 'a prompt starts a run and its first turn',
    log: asked,
    next: ['run_started', 'turn_started 0', 'prompt: Hi'],
  },
  {
    name: 'the oldest prompt goes first',
    log: [...asked, prompt('Second')],
    next: ['run_started', 'turn_started 0', 'prompt: Hi'],
  },
  { name: 'what is queued waits for a run', log: [...opened, steering('Mind.'), followUp('Then.')], next: 'idle' },
  {
    name: 'steering that waited joins the first turn, after the prompt; a follow-up does not',
    log: [...opened, followUp('Then.'), steering('Mind.'), prompt('Hi')],
    next: ['run_started', 'turn_started 0', 'prompt: Hi', 'steering: Mind.'],
  },
  { name: 'an empty history is not continued', log: [...opened, continued], next: ['input_rejected 3'] },
  { name: "nor one that ends with the model's answer", log: [...over, continued], next: ['input_rejected 10'] },
  {
    name: 'one that ends with results is continued',
    log: [
      ...replied(call('c1', 'read')),
      toolStarted('c1', 'read'),
      toolEnded('c1', 'read'),
      turnEnded(0),
      runEnded('turn_limit'),
      continued,
    ],
    next: ['run_started', 'turn_started 0'],
  },
  {
    name: 'results that no run waits for are rejected',
    log: [...opened, posted({ type: 'client_tool_results', results: [] })],
    next: ['input_rejected 3'],
  },
  {
    name: 'a prompt that was cancelled before its run keeps what was said',
    log: [...asked, cancel()],
    next: ['run_started', 'prompt: Hi', 'run_ended aborted'],
  },
  {
    name: 'unless a filter had to see it first',
    log: [...asked, cancel()],
    agent: { inputGuardrails: [() => ({ verdict: 'pass' })] },
    next: ['input_rejected 3', 'run_ended aborted'],
  },
  { name: 'a wish for a smaller view is met at once', log: [...over, compactWish], next: 'compact manual' },
  {
    name: 'branches start a run without a turn',
    log: [
      ...opened,
      posted({ type: 'branch', messages: [], branches: [{ configId: 'm', configSegment: 'm' }], strategy: 'first' }),
    ],
    next: ['run_started', 'branches_started'],
  },
]);

const everyStart: Partial<AgentDefinition> = {
  ...hook('user_prompt_submit', 'before_run'),
  inputGuardrails: [() => ({ verdict: 'pass' })],
  memory: transientMemory(),
};
const passed = decided('filter', 'filter:3', { verdict: 'pass' });
const remembers = decided('memory', 'memory:3', { content: [{ type: 'text', text: 'Likes tea.' }] });

rows('before a run: filters, then user_prompt_submit, then before_run, then the memory', [
  { name: 'the filters are asked first', log: asked, agent: everyStart, next: 'ask filter:3' },
  { name: 'then user_prompt_submit', log: [...asked, passed], agent: everyStart, next: 'ask user_prompt_submit:3' },
  {
    name: 'then before_run',
    log: [...asked, passed, proceed('user_prompt_submit:3')],
    agent: everyStart,
    next: 'ask before_run:3',
  },
  {
    name: 'then the memory',
    log: [...asked, passed, proceed('user_prompt_submit:3'), proceed('before_run:3')],
    agent: everyStart,
    next: 'ask memory:3',
  },
  {
    name: 'then the run starts, with what is remembered before the prompt',
    log: [...asked, passed, proceed('user_prompt_submit:3'), proceed('before_run:3'), remembers],
    agent: everyStart,
    next: ['run_started', expect.stringMatching(/^memory: [^]*Likes tea/), 'turn_started 0', 'prompt: Hi'],
  },
  {
    name: 'a filter that refuses ends it, and nobody else is asked',
    log: [...asked, decided('filter', 'filter:3', { verdict: 'reject', reason: 'No.' })],
    agent: everyStart,
    next: ['input_rejected 3', 'run_ended rejected'],
  },
  {
    name: 'so does a hook',
    log: [...asked, passed, decided('hook', 'user_prompt_submit:3', { decision: 'deny' })],
    agent: everyStart,
    next: ['input_rejected 3', 'run_ended rejected'],
  },
  {
    name: 'a continuation has no prompt to submit',
    log: [
      ...opened,
      prompt('Hi'),
      runStarted(),
      turnStarted(0),
      userMessage('prompt', 'Hi', { inputSeq: 3 }),
      runEnded('aborted'),
      continued,
    ],
    agent: everyStart,
    next: 'ask before_run:8',
  },
]);

const everyTurn: Partial<AgentDefinition> = {
  ...hook('before_turn'),
  inputGuardrails: [() => ({ verdict: 'pass' })],
  turnContext: { planning: () => null },
  routing: { models: { small: model, big: scriptedModel([], { id: 'big' }) }, choose: () => null },
};
const steered = [...started, steering('Mind.')];
const passedSteering = decided('filter', 'filter:5', { verdict: 'pass' });
const planned = decided('context', 'turn_context:0', { planning: 'Read first.' }, { turnIndex: 0 });

rows('before a turn: filters of what was queued, then before_turn, then its context, then its model', [
  {
    name: 'a run begins in an append of its own where somebody has a say about turns',
    log: asked,
    agent: hook('before_turn'),
    next: ['run_started'],
  },
  { name: 'the filters see what is about to be delivered', log: steered, agent: everyTurn, next: 'ask filter:5' },
  { name: 'then before_turn', log: [...steered, passedSteering], agent: everyTurn, next: 'ask before_turn:0' },
  {
    name: 'then the context',
    log: [...steered, passedSteering, proceed('before_turn:0')],
    agent: everyTurn,
    next: 'ask turn_context:0',
  },
  {
    name: 'then the model',
    log: [...steered, passedSteering, proceed('before_turn:0'), planned],
    agent: everyTurn,
    next: 'ask routing:0',
  },
  {
    name: 'then the turn starts: its context, the prompt, what was queued',
    log: [
      ...steered,
      passedSteering,
      proceed('before_turn:0'),
      planned,
      decided('routing', 'routing:0', { model: 'big' }),
    ],
    agent: everyTurn,
    next: [
      'turn_started 0 model 1',
      expect.stringMatching(/^reminder: [^]*Read first/),
      'prompt: Hi',
      'steering: Mind.',
    ],
  },
  {
    name: 'steering that a filter refuses ends the run, and keeps the prompt',
    log: [...steered, decided('filter', 'filter:5', { verdict: 'reject', reason: 'No.' })],
    agent: everyTurn,
    next: ['prompt: Hi', 'input_rejected 5', 'run_ended rejected'],
  },
  {
    name: 'a before_turn hook that says no ends the run, and keeps the prompt',
    log: [...started, decided('hook', 'before_turn:0', { decision: 'deny' })],
    agent: hook('before_turn'),
    next: ['prompt: Hi', 'run_ended stopped'],
  },
]);

const long = 'many words '.repeat(400);
const full = [...started, turnStarted(0), userMessage('prompt', long, { inputSeq: 3 })];
const tight: Partial<AgentDefinition> = { context: { window: 500 }, limits: { maxCost: 5 } };
const compacted = inRun('compacted', {
  turnIndex: 0,
  trigger: 'auto',
  strategy: 's',
  phases: [],
  view: [{ type: 'kept', from: 0, count: 1 }],
  tokensBefore: 1000,
  tokensAfter: 900,
  messagesBefore: 1,
  messagesAfter: 1,
});
const granted = decided('budget', 's.m.1/0/1', { granted: true, reserved: 1, maxTokens: 100 }, { turnIndex: 0 });
const failed = (error: object, retry?: object): DurableEventBody =>
  inRun('attempt_failed', {
    turnIndex: 0,
    attempt: 1,
    error: { kind: 'network', message: 'Reset.', retryable: true, ...error },
    ...(retry ? { retry } : {}),
  });
const again = failed({}, { delayMs: 500, modelIndex: 0 });

rows('a model call: the view, then the money, then the call', [
  { name: 'a turn that began calls the model', log: begun, next: 'call_model 0.1' },
  {
    name: 'a view that is too big is compacted before money is set aside',
    log: full,
    agent: tight,
    next: 'compact auto',
  },
  {
    name: 'before_compaction is asked before that',
    log: full,
    agent: { ...tight, ...hook('before_compaction') },
    next: 'ask before_compaction:auto:s.m.1:0',
  },
  { name: 'once per turn; then money is set aside', log: [...full, compacted], agent: tight, next: 'ask s.m.1/0/1' },
  {
    name: 'then the model is called',
    log: [...full, compacted, granted],
    agent: tight,
    next: 'call_model 0.1 for 100 tokens',
  },
  {
    name: 'a view that could not be made smaller ends the run',
    log: [
      ...full,
      inRun('compaction_failed', { turnIndex: 0, trigger: 'auto', reason: 'nothing_to_remove', message: 'No.' }),
    ],
    agent: tight,
    next: ['turn_ended', 'run_ended context_limit'],
  },
  {
    name: 'without the money for it the run ends',
    log: [...begun, decided('budget', 's.m.1/0/1', { granted: false, message: 'no money' }, { turnIndex: 0 })],
    agent: { limits: { maxCost: 5 } },
    next: ['turn_ended', 'limit: [Agent stopped: no money]', 'run_ended budget_limit'],
  },
  { name: 'a wish for a smaller view is met before the call', log: [...begun, compactWish], next: 'compact manual' },
  { name: 'a failed call waits for its next attempt', log: [...begun, again], now: AT + 499, next: 'wait until 1500' },
  {
    name: 'and is made again when the time has come',
    log: [...begun, again],
    now: AT + 500,
    next: ['turn_started 0.2'],
  },
  {
    name: 'with the next model, where that was decided',
    log: [...begun, failed({}, { delayMs: 0, modelIndex: 1 })],
    agent: { fallbacks: [scriptedModel([], { id: 'other' })] },
    next: ['turn_started 0.2 model 1'],
  },
  {
    name: 'a call that is given up ends the run',
    log: [...begun, failed({})],
    next: ['turn_ended', 'run_ended model_error'],
  },
  {
    name: 'a request that was too long is made again after a compaction',
    log: [...begun, failed({ kind: 'context_overflow' })],
    agent: { context: {} },
    next: 'compact overflow',
  },
  {
    name: 'or ends the run where nothing keeps the view small',
    agent: { context: false },
    log: [...begun, failed({ kind: 'context_overflow' })],
    next: ['turn_ended', 'run_ended context_limit'],
  },
  {
    name: 'what a drive that died had streamed is void, and the call is made again',
    log: [...begun, drive(2)],
    next: ['message_discarded', 'turn_started 0.2'],
  },
]);

const two = replied(call('c1', 'read'), call('c2', 'read'));
const one = replied(call('c1', 'read'));
const ended = (callId: string, name = 'read'): DurableEventBody[] => [
  toolStarted(callId, name),
  toolEnded(callId, name),
];
const childStarted = toolStarted('c0', 'delegate', { childSessionId: 'child' });

rows('calls of a turn', [
  { name: 'run side by side', log: two, next: 'run_tools c1 c2' },
  {
    name: 'one after the other where the agent says so',
    log: two,
    agent: { toolExecution: { mode: 'sequential' } },
    next: 'run_tools c1',
  },
  {
    name: 'the second once the first has ended',
    log: [...two, ...ended('c1')],
    agent: { toolExecution: { mode: 'sequential' } },
    next: 'run_tools c2',
  },
  {
    name: 'so many at a time where the agent says so',
    log: replied(call('c1', 'read'), call('c2', 'read'), call('c3', 'read')),
    agent: { toolExecution: { mode: 'batched', size: 2 } },
    next: 'run_tools c1 c2',
  },
  {
    name: 'what can not run is answered before anything runs',
    log: replied(
      call('c1', 'read'),
      call('c2', 'nothing'),
      call('c3', 'read', { problem: 'invalid_json', argumentsText: '{' }),
    ),
    next: ['tool_call_rejected c2 unknown_tool', 'tool_call_rejected c3 invalid_json'],
  },
  {
    name: 'so are calls that are more than a reply may have',
    log: two,
    agent: { limits: { maxCallsPerTurn: 1 } },
    next: ['tool_call_rejected c2 too_many_calls'],
  },
  {
    name: 'between calls that run one by one, steering goes first',
    log: [...two, ...ended('c1'), steering('Stop.')],
    agent: { toolExecution: { mode: 'sequential' } },
    next: ['tool_started c2 skipped', 'tool_ended c2 skipped'],
  },
  {
    name: 'side by side, steering waits for all of them',
    log: [...two, ...ended('c1'), steering('Stop.')],
    next: 'run_tools c2',
  },
  {
    name: 'no call of a closing turn runs',
    log: [
      ...started,
      turnStarted(0, { closing: { status: 'turn_limit', message: 'over' } }),
      userMessage('prompt', 'Hi', { inputSeq: 3 }),
      reply([call('c1', 'read')]),
    ],
    next: ['tool_call_rejected c1 limit'],
  },
]);

const gated: Partial<AgentDefinition> = hook('before_tool', 'after_tool');
const write = replied(call('c1', 'write'));
const waiting = [...write, approvalRequested('c1', 'write')];
const answer = (decision: 'approve' | 'reject', approvalId = 'ask c1'): DurableEventBody =>
  posted({ type: 'approval_answer', approvalId, decision });
const answered = (decision: 'approve' | 'reject'): DurableEventBody =>
  inRun('approval_answered', { approvalId: 'ask c1', decision, inputSeq: 9 });

rows('before a call: limits, then hooks, then permissions', [
  { name: 'a limit leaves room for so many', log: two, agent: { limits: { maxToolCalls: 1 } }, next: 'run_tools c1' },
  {
    name: 'hooks and permissions are asked about no call beyond the limit',
    log: replied(call('c1', 'write'), call('c2', 'write')),
    agent: { ...gated, limits: { maxToolCalls: 1 } },
    next: 'ask before_tool:c1',
  },
  {
    name: 'the others are answered, and nobody is asked',
    log: [...two, ...ended('c1'), proceed('after_tool:c1', { callId: 'c1' })],
    agent: { ...gated, limits: { maxToolCalls: 1 } },
    next: ['tool_call_rejected c2 limit'],
  },
  {
    name: 'sub-agents have a limit of their own',
    log: replied(call('c0', 'delegate'), call('c1', 'delegate')),
    agent: { subAgents: { maxChildren: 1 } },
    next: ['tool_call_rejected c1 sub_agent_limit'],
  },
  { name: 'hooks are asked first', log: write, agent: gated, next: 'ask before_tool:c1' },
  { name: 'then permissions', log: [...write, proceed('before_tool:c1')], agent: gated, next: 'ask permission:c1' },
  {
    name: 'then the call runs',
    log: [...write, proceed('before_tool:c1'), allowed('c1')],
    agent: gated,
    next: 'run_tools c1',
  },
  {
    name: 'a hook that says no is the result, and permissions are not asked',
    log: [...write, decided('hook', 'before_tool:c1', { decision: 'deny' })],
    agent: gated,
    next: ['tool_call_rejected c1 hook'],
  },
  {
    name: 'a hook may want a person to be asked about any call',
    log: [...one, decided('hook', 'before_tool:c1', { decision: 'ask' })],
    agent: gated,
    next: 'ask permission:c1',
  },
  {
    name: 'a denial is the result',
    log: [...write, allowed('c1', { outcome: 'deny' })],
    next: ['tool_call_rejected c1 denied'],
  },
  {
    name: 'only calls that something restrains are asked about',
    log: replied(call('c1', 'read'), call('c2', 'write')),
    next: 'ask permission:c2',
  },
]);

const picking = [...replied(call('c1', 'pick')), toolStarted('c1', 'pick', { runs: 'client' })];
const results = (...callIds: readonly string[]): DurableEventBody =>
  posted({ type: 'client_tool_results', results: callIds.map((callId) => ({ callId, content: 'red' })) });
const inDoubt = (replay: string): DurableEventBody[] => [...one, toolStarted('c1', 'read', { replay }), drive(2)];

rows('calls that wait for somebody', [
  {
    name: 'all other calls run before the run pauses for an approval',
    log: [...replied(call('c1', 'write'), call('c2', 'read')), approvalRequested('c1', 'write')],
    next: 'run_tools c2',
  },
  { name: 'then it pauses', log: waiting, next: ['run_paused approval'] },
  { name: 'once', log: [...waiting, inRun('run_paused', { reason: 'approval', pending: [] })], next: 'idle' },
  {
    name: 'calls behind a sequential one wait with it',
    log: [...replied(call('c1', 'ordered'), call('c2', 'read')), approvalRequested('c1', 'ordered')],
    next: ['run_paused approval'],
  },
  { name: 'an answer is recorded', log: [...waiting, answer('approve')], next: ['approval_answered approve'] },
  {
    name: 'and becomes the decision',
    log: [...waiting, answer('approve'), answered('approve')],
    next: 'ask permission:c1',
  },
  {
    name: 'an answer to no open question is rejected',
    log: [...waiting, answer('approve', 'ask c9')],
    next: ['input_rejected 9'],
  },
  {
    name: 'a question that nobody answers in time is answered with no',
    log: [...write, approvalRequested('c1', 'write', { expiresAt: AT + 10 })],
    now: AT + 10,
    next: ['tool_call_rejected c1 expired'],
  },
  {
    name: 'an answer that came in time counts, however late it is read',
    log: [...write, approvalRequested('c1', 'write', { expiresAt: AT + 10 }), answer('reject')],
    now: AT + 99,
    next: ['approval_answered reject'],
  },
  { name: "a client's call pauses the run", log: picking, next: ['run_paused client_tools'] },
  { name: 'its result is recorded', log: [...picking, results('c1')], next: ['tool_ended c1'] },
  { name: 'results for other calls are rejected', log: [...picking, results('c1', 'c9')], next: ['input_rejected 9'] },
  {
    name: 'a call of a drive that died is not run again',
    log: inDoubt('never'),
    next: ['tool_call_rejected c1 in_doubt'],
  },
  { name: 'unless that is safe', log: inDoubt('safe'), next: 'run_tools c1' },
  { name: 'or a person says so', log: inDoubt('ask'), next: ['approval_requested c1', 'run_paused approval'] },
]);

const done = (...extra: readonly DurableEventBody[]): DurableEventBody[] => [...one, ...ended('c1'), ...extra];

const failing = [...one, toolStarted('c1', 'read'), toolEnded('c1', 'read', { isError: true })];

rows('the end of a turn', [
  { name: 'results lead to the next turn', log: done(), next: ['turn_ended', 'turn_started 1'] },
  { name: 'hooks are told of a call that ended first', log: done(), agent: gated, next: 'ask after_tool:c1' },
  {
    name: 'steering comes with the next turn',
    log: done(steering('Mind.')),
    next: ['turn_ended', 'turn_started 1', 'steering: Mind.'],
  },
  {
    name: 'a follow-up waits while there are tool turns',
    log: done(followUp('Then.')),
    next: ['turn_ended', 'turn_started 1'],
  },
  {
    name: 'and is delivered instead of the end',
    log: [...replied('Hello.'), followUp('Then.')],
    next: ['turn_ended', 'turn_started 1', 'follow_up: Then.'],
  },
  {
    name: 'after all steering',
    log: [...replied('Hello.'), followUp('Then.'), steering('Mind.')],
    next: ['turn_ended', 'turn_started 1', 'steering: Mind.'],
  },
  {
    name: 'one message at a time',
    log: [...replied('Hello.'), followUp('One.'), followUp('Two.')],
    next: ['turn_ended', 'turn_started 1', 'follow_up: One.'],
  },
  {
    name: 'or all of them, where the agent says so',
    log: [...replied('Hello.'), followUp('One.'), followUp('Two.')],
    agent: { followUpMode: 'all' },
    next: ['turn_ended', 'turn_started 1', 'follow_up: One.', 'follow_up: Two.'],
  },
  {
    name: 'a reply that was cut off goes on',
    log: [...begun, reply(['Half'], { stopReason: 'length' })],
    next: ['turn_ended', 'turn_started 1', expect.stringMatching(/^reminder: Your reply was cut off/)],
  },
  {
    name: 'or ends the run, when that was done too often',
    log: [...begun, reply(['Half'], { stopReason: 'length' })],
    agent: { maxContinuations: 0 },
    next: ['turn_ended', 'run_ended length'],
  },
  {
    name: 'a refusal ends the run',
    log: [...begun, reply([], { stopReason: 'refusal' })],
    next: ['turn_ended', 'run_ended refused'],
  },
  {
    name: 'a reply without a call is reminded, where calls are wanted',
    log: replied('Hello.'),
    agent: { requireToolCall: 'remind', stopTools: true },
    next: [
      'tool_call_rejected no_call_reply no_call',
      'turn_ended',
      'turn_started 1',
      expect.stringMatching(/^reminder: /),
    ],
  },
  {
    name: 'the model is warned of a limit that comes near',
    log: done(),
    agent: { limits: { maxTurns: 2, warnAt: 0.5 } },
    next: ['turn_ended', 'turn_started 1', expect.stringMatching(/^reminder: \[The turn limit is near/)],
  },
  {
    name: 'a limit ends the run, and says so in the history',
    log: done(),
    agent: { limits: { maxTurns: 1 } },
    next: ['turn_ended', expect.stringMatching(/^limit: \[Agent stopped: turn limit/), 'run_ended turn_limit'],
  },
  {
    name: 'after one more call where the agent wraps up',
    log: done(),
    agent: { limits: { maxTurns: 1 }, wrapUp: 'Sum up.' },
    next: ['turn_ended', 'turn_started 1 closing', expect.stringMatching(/^limit: [^]*Sum up\.$/)],
  },
  {
    name: 'which is the last, whatever it says',
    log: [
      ...begun,
      ...[turnEnded(0), turnStarted(1, { closing: { status: 'turn_limit', message: 'over' } })],
      reply(['Summed up.']),
    ],
    next: ['turn_ended', 'run_ended turn_limit'],
  },
  {
    name: 'limits end no turn that began, but time does',
    log: one,
    agent: { limits: { maxTurns: 1, maxDurationMs: 5 } },
    now: AT + 5,
    next: [
      'tool_call_rejected c1 cancelled',
      'turn_ended',
      expect.stringMatching(/^limit: \[Agent stopped: time limit/),
      'run_ended time_limit',
    ],
  },
  {
    name: 'a run that gets nowhere is told so',
    log: failing,
    agent: { loopDetection: { repeatedErrors: 1 } },
    next: ['turn_ended', 'turn_started 1', expect.stringMatching(/^reminder: /)],
  },
  {
    name: 'and is ended when that changes nothing',
    log: [
      ...failing,
      turnEnded(0),
      turnStarted(1),
      userMessage('reminder', 'Try something else.', {
        notice: { type: 'loop_detected', pattern: 'repeated_error', stopped: false },
      }),
      reply([call('c2', 'read')]),
      toolStarted('c2', 'read'),
      toolEnded('c2', 'read', { isError: true }),
    ],
    agent: { loopDetection: { repeatedErrors: 1 } },
    next: ['turn_ended', expect.stringMatching(/^limit: \[Agent stopped: no progress/), 'run_ended loop_detected'],
  },
]);

const everyEnd: Partial<AgentDefinition> = {
  ...hook('stop'),
  output: { schema: { type: 'string' }, mode: 'prompted' },
  outputGuardrails: [() => ({ ok: true })],
  memory: transientMemory(),
};
const answeredRun = [...replied('"Hello."'), turnEnded(0)];
const fits = decided('check', 'output:1', { ok: true, value: 'Hello.' });
const isGood = decided('check', 'check:1', { ok: true });

rows('the end of a run: its form, then its check, then stop hooks, then the memory', [
  { name: 'an answer ends the run', log: replied('Hello.'), next: ['turn_ended', 'run_ended completed'] },
  { name: 'its form is checked first', log: answeredRun, agent: everyEnd, next: 'ask output:1' },
  { name: 'then what it says', log: [...answeredRun, fits], agent: everyEnd, next: 'ask check:1' },
  { name: 'then stop hooks are asked', log: [...answeredRun, fits, isGood], agent: everyEnd, next: 'ask stop:1' },
  {
    name: 'then the memory is told',
    log: [...answeredRun, fits, isGood, proceed('stop:1')],
    agent: everyEnd,
    next: 'ask memory_update:1',
  },
  {
    name: 'then it ends',
    log: [...answeredRun, fits, isGood, proceed('stop:1'), decided('memory', 'memory_update:1', {})],
    agent: everyEnd,
    next: ['run_ended completed'],
  },
  {
    name: 'an answer of the wrong form goes back to the model, and nobody else is asked',
    log: [...answeredRun, decided('check', 'output:1', { ok: false, message: 'Wrong form.' })],
    agent: everyEnd,
    next: ['turn_started 1', 'check: Wrong form.'],
  },
  {
    name: 'until its retries are spent',
    log: [...answeredRun, decided('check', 'output:1', { ok: false, message: 'Wrong form.' })],
    agent: { output: { schema: { type: 'string' }, mode: 'prompted', retries: 0 } },
    next: ['run_ended invalid_output'],
  },
  {
    name: 'an answer that fails its check goes back too',
    log: [...answeredRun, decided('check', 'check:1', { ok: false, message: 'Look again.' })],
    agent: { outputGuardrails: [() => ({ ok: true })] },
    next: ['turn_started 1', 'check: Look again.'],
  },
  {
    name: 'a stop hook that says no keeps the run going',
    log: [...answeredRun, decided('hook', 'stop:1', { decision: 'deny', reason: 'Test it.' })],
    agent: hook('stop'),
    next: ['turn_started 1', 'hook: Test it.'],
  },
  {
    name: 'a run that ends at a limit has no answer to check',
    log: done(turnEnded(0)),
    agent: { ...everyEnd, limits: { maxTurns: 1 } },
    next: [expect.stringMatching(/^limit: /), 'run_ended turn_limit'],
  },
  {
    name: 'a stop tool ends the run as an answer does',
    log: [...replied(call('c1', 'finish')), ...ended('c1', 'finish'), turnEnded(0)],
    agent: hook('stop'),
    next: 'ask stop:1',
  },
  {
    name: 'a handoff ends the run',
    log: [...replied(call('c1', 'hand_off_to_helper')), ...ended('c1', 'hand_off_to_helper')],
    next: ['turn_ended', 'run_ended completed'],
  },
  {
    name: 'what the next agent is shown is decided first',
    log: [...replied(call('c1', 'over')), ...ended('c1', 'over'), turnEnded(0)],
    agent: { tools: [handoffTool('helper', { name: 'over', description: 'Hands over.', filter: () => [] })] },
    next: 'ask handoff:c1',
  },
  {
    name: 'what nobody has delivered by then is reported, and what was queued before the run is kept',
    log: [
      ...opened,
      followUp('Kept.'),
      prompt('Hi'),
      runStarted({ inputSeq: 4 }),
      turnStarted(0),
      userMessage('prompt', 'Hi', { inputSeq: 4 }),
      reply([], { stopReason: 'refusal' }),
      followUp('Lost.'),
    ],
    next: ['turn_ended', 'input_rejected 9', 'run_ended refused'],
  },
]);

const inBackground: Partial<AgentDefinition> = { background: { tools: ['read'], atEnd: 'wait', maxRunning: 1 } };
const building = [...replied('Hello.'), taskBegun('t1'), task('t1', 'running', { attempt: 1 })];
const files = { ...model, files: { read: () => Promise.reject(new Error('Never read.')) } };
const drew = replied('Hello.', {
  type: 'provider_tool_result',
  callId: 'p1',
  name: 'code',
  isError: false,
  raw: { file_id: 'f1' },
});

rows('before the end: what is waited for, then the files, then the end', [
  { name: 'a run that would end well waits for its tasks', log: building, agent: inBackground, next: 'wait' },
  {
    name: 'unless it is interrupted',
    log: building,
    agent: inBackground,
    around: { isInterrupted: true },
    next: ['turn_ended', 'run_ended completed'],
  },
  {
    name: 'or the agent leaves them',
    log: building,
    agent: { background: { tools: ['read'] } },
    next: ['turn_ended', 'run_ended completed'],
  },
  {
    name: 'a run that fails waits for nothing',
    log: [...begun, taskBegun('t1'), task('t1', 'running', { attempt: 1 }), failed({})],
    agent: inBackground,
    next: ['turn_ended', 'run_ended model_error'],
  },
  {
    name: 'a run that would end well waits for input that is still arriving',
    log: replied('Hello.'),
    around: { isInputOpen: true },
    next: 'wait',
  },
  {
    name: 'files that a provider made are kept before the end',
    log: drew,
    agent: { model: files },
    around: { keepsBlobs: true },
    next: 'keep_files f1',
  },
  {
    name: 'where there is somewhere to keep them',
    log: drew,
    agent: { model: files },
    next: ['turn_ended', 'run_ended completed'],
  },
  {
    name: 'once',
    log: [
      ...drew,
      inRun('files_generated', {
        backend: 'b',
        files: [{ fileId: 'f1', provider: 'scripted', firstTurn: 0, lastTurn: 0, isUpdate: false }],
      }),
    ],
    agent: { model: files },
    around: { keepsBlobs: true },
    next: ['turn_ended', 'run_ended completed'],
  },
  {
    name: 'after what is waited for',
    log: drew,
    agent: { model: files },
    around: { keepsBlobs: true, isInputOpen: true },
    next: 'wait',
  },
  {
    name: 'also when the run fails',
    log: [...drew, cancel()],
    agent: { model: files },
    around: { keepsBlobs: true, isInputOpen: true },
    next: 'keep_files f1',
  },
  {
    name: 'no run ends with money set aside',
    log: [...begun, granted, cancel()],
    agent: { limits: { maxCost: 5 } },
    next: ['turn_ended', 'budget_settled none', 'run_ended aborted'],
  },
]);

const branching = [...started, inRun('branches_started', { branches: [{ sessionId: 'b0', configId: 'm' }] })];
const NOTHING_USED = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: null };

rows('what goes before turns', [
  {
    name: 'a cancellation closes what is open, in order',
    log: [...two, ...ended('c1'), cancel()],
    next: ['tool_call_rejected c2 cancelled', 'turn_ended', 'run_ended aborted'],
  },
  {
    name: 'it goes before a hook that ended the run',
    log: [...one, decided('hook', 'before_tool:c1', { decision: 'deny', endRun: 'Enough.' }), cancel()],
    agent: gated,
    next: ['tool_call_rejected c1 cancelled', 'turn_ended', 'run_ended aborted'],
  },
  {
    name: 'a hook may end the run',
    log: [...one, decided('hook', 'before_tool:c1', { decision: 'deny', endRun: 'Enough.' })],
    agent: gated,
    next: ['tool_call_rejected c1 cancelled', 'turn_ended', 'run_ended stopped'],
  },
  {
    name: 'sub-agents that nobody works on are ended first',
    log: [...replied(call('c0', 'delegate')), childStarted, drive(2), cancel()],
    next: 'stop_children c0',
  },
  {
    name: 'a prompt that comes during a run is rejected',
    log: [...begun, prompt('Another')],
    next: ['input_rejected 7'],
  },
  {
    name: 'a reply that was stopped for its size ends it',
    log: [...begun, { ...reply(['Endless']), stoppedAt: 'reply' } as DurableEventBody],
    next: ['turn_ended', expect.stringMatching(/^limit: \[Agent stopped: reply limit/), 'run_ended reply_limit'],
  },
  {
    name: 'the branches of a run do its work in place of turns',
    log: branching,
    next: 'run_branches',
  },
  {
    name: 'then the one that was selected is adopted',
    log: [
      ...branching,
      inRun('branches_ended', { selectedIndex: 1, selectedSessionId: 'b1', evaluationUsage: NOTHING_USED }),
    ],
    next: 'adopt_branch 1',
  },
]);

rows('background tasks go before all else', [
  {
    name: 'they are begun',
    log: [...begun, taskBegun('t1'), taskBegun('t2')],
    agent: inBackground,
    next: 'start_tasks t1',
  },
  {
    name: 'so many at a time',
    log: [...begun, taskBegun('t1'), taskBegun('t2'), task('t1', 'running')],
    agent: inBackground,
    next: 'call_model 0.1',
  },
  {
    name: 'their ends are noted',
    log: [...building, taskEnded('t1')],
    agent: inBackground,
    next: ['task_updated t1 completed'],
  },
  {
    name: 'they are ended when somebody says so',
    log: [...building, posted({ type: 'stop_task', taskId: 't1' })],
    agent: inBackground,
    next: 'stop_tasks t1',
  },
  {
    name: 'what they came to is told with the next turn, before steering',
    log: [...building, taskEnded('t1'), task('t1', 'completed', { inputSeq: 10 }), steering('Mind.')],
    agent: inBackground,
    next: ['turn_ended', 'turn_started 1', expect.stringMatching(/^task: [^]*All built/), 'steering: Mind.'],
  },
  {
    name: 'one that ends while nothing is going on starts a run, where the agent says so',
    log: [...building, turnEnded(0), runEnded('completed'), taskEnded('t1'), task('t1', 'completed', { inputSeq: 12 })],
    agent: { background: { tools: ['read'], wake: true } },
    next: ['run_started', 'turn_started 0', expect.stringMatching(/^task: /)],
  },
  {
    name: 'and nothing otherwise',
    log: [...building, turnEnded(0), runEnded('completed'), taskEnded('t1'), task('t1', 'completed', { inputSeq: 12 })],
    agent: inBackground,
    next: 'idle',
  },
]);

it('says the same of the same log, whenever it is asked, and changes nothing', () => {
  const state = stateOf(done(steering('Mind.')));
  const before = structuredClone(state);
  const agent = defineAgent({ model, configId: 'm', tools: TOOLS });
  expect(plan(state, agent, AT)).toEqual(plan(state, agent, AT));
  expect(state).toEqual(before);
});

it('is answered for a call that was rejected as for one that ran', () => {
  const state = stateOf([...one, toolRejected('c1', 'read', 'hook')]);
  const step = plan(state, defineAgent({ model, configId: 'm', tools: TOOLS }), AT);
  expect(inShort(step)).toEqual(['turn_ended', 'turn_started 1']);
});
