import { describe, expect, it } from 'vitest';
import type { DurableEventBody } from '../entries/events.ts';
import { initialState, reduce, type SessionState } from '../entries/kernel.ts';
import type { DurableEvent } from '../index.ts';
import {
  allowed,
  approvalRequested,
  asked,
  AT,
  begun,
  call,
  cancel,
  created as createdHere,
  decided,
  drive,
  followUp,
  inRun,
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

const created: DurableEventBody = { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' };
const noted: DurableEventBody = { type: 'task_updated', at: 2, taskId: 't', status: 'running' };
const numbered = (body: DurableEventBody, seq: number): DurableEvent => ({ ...body, seq });

describe('a log that is folded', () => {
  it.each<[string, readonly DurableEvent[], number]>([
    ['begins with another event than the first', [numbered(created, 2)], 0],
    ['has a gap', [numbered(created, 1), numbered(noted, 3)], 1],
    ['says an event twice', [numbered(created, 1), numbered(created, 1)], 1],
    ['goes back', [numbered(created, 1), numbered(noted, 2), numbered(noted, 1)], 2],
  ])('is refused when it %s, and the state stays what it was', (_, events, kept) => {
    const state = initialState('s');
    for (const event of events.slice(0, -1)) reduce(state, event);
    const before = structuredClone(state);
    const last = events.at(-1) ?? expect.fail('no event');
    expect(() => reduce(state, last)).toThrow(
      expect.objectContaining({ code: 'journal_corrupt', message: expect.stringContaining('a gap or a repeat') }),
    );
    expect(state).toEqual(before);
    expect(state.seq).toBe(kept);
  });
});

/** What a log changes: a part of the state, and what it is then. */
interface Row {
  readonly name: string;
  readonly log: readonly DurableEventBody[];
  readonly part: (state: SessionState) => unknown;
  readonly is: unknown;
}

function rows(title: string, table: readonly Row[]): void {
  describe(title, () => {
    it.each(table)('$name', ({ log, part, is }) => expect(part(stateOf(log))).toEqual(is));
  });
}

const inbox = ({ inbox: entries }: SessionState): string[] => entries.map(({ seq, input }) => `${seq} ${input.type}`);
const view = ({ view: messages }: SessionState): string[] =>
  messages.map((message) => (message.role === 'tool' ? `result ${message.callId}` : message.role));
const callsOf = ({ run }: SessionState): string[] =>
  (run?.turn?.calls ?? []).map(({ callId, status }) => `${callId} ${status}`);
const firstCall = ({ run }: SessionState) => run?.turn?.calls[0];
const message = (id: string) => ({ role: 'user', id, at: AT, origin: 'prompt', content: [] }) as const;

rows('inputs', [
  {
    name: 'wait in the inbox in their order',
    log: [...opened, steering('A'), prompt('B')],
    part: inbox,
    is: ['3 steering', '4 prompt'],
  },
  { name: 'a prompt stays until its messages are in the history', log: started, part: inbox, is: ['3 prompt'] },
  { name: 'and is used up with the last of them', log: begun, part: inbox, is: [] },
  {
    name: 'a prompt without messages is used up by its run',
    log: [...opened, posted({ type: 'prompt', messages: [] }), runStarted()],
    part: inbox,
    is: [],
  },
  {
    name: 'steering is used up by its message',
    log: [...begun, steering('A'), userMessage('steering', 'A', { inputSeq: 7 })],
    part: inbox,
    is: [],
  },
  {
    name: 'a rejected input is gone',
    log: [...asked, { type: 'input_rejected', at: AT, inputSeq: 3, reason: 'No.' }],
    part: inbox,
    is: [],
  },
  {
    name: 'clearing a queue takes back its kind only',
    log: [...opened, steering('A'), followUp('B'), posted({ type: 'clear_queue', kind: 'steering' })],
    part: inbox,
    is: ['4 follow_up'],
  },
  {
    name: 'or both kinds, and no prompt',
    log: [...asked, steering('A'), followUp('B'), posted({ type: 'clear_queue' })],
    part: inbox,
    is: ['3 prompt'],
  },
  {
    name: 'a change of title or tags waits for nobody',
    log: [...opened, posted({ type: 'rename', title: 'Tea' })],
    part: (state) => [inbox(state), state.title],
    is: [[], 'Tea'],
  },
  {
    name: 'a cancellation hits the open run and every prompt that waits',
    log: [...begun, prompt('Next'), cancel({ reason: 'Enough.' })],
    part: (state) => [state.run?.cancel, state.inbox.map(({ cancelled }) => cancelled)],
    is: [{ reason: 'Enough.' }, [{ reason: 'Enough.' }]],
  },
  {
    name: 'or only the run that it names',
    log: [...begun, prompt('Next'), cancel({ inputSeq: 3 })],
    part: (state) => [state.run?.cancel, state.inbox.map(({ cancelled }) => cancelled)],
    is: [{ reason: null }, [null]],
  },
  {
    name: 'nothing that comes later',
    log: [...opened, cancel(), prompt('Hi')],
    part: ({ inbox: all }) => all.map(({ cancelled }) => cancelled),
    is: [null],
  },
  {
    name: 'an import replaces the conversation, and keeps prompts that wait',
    log: [
      ...begun,
      runEnded('completed'),
      steering('Old.'),
      prompt('Next'),
      posted({ type: 'import', messages: [message('m1')] }),
    ],
    part: (state) => [state.view, inbox(state)],
    is: [[message('m1')], ['9 prompt']],
  },
]);

rows('a run', [
  {
    name: 'begins with nothing used',
    log: started,
    part: ({ run }) => [run?.runId, run?.turns, run?.cost, run?.turn, run?.inputSeq],
    is: ['s.m.1', 0, 0, null, 3],
  },
  { name: 'takes a number of its configuration', log: started, part: ({ ordinals }) => [...ordinals], is: [['m', 1]] },
  {
    name: 'that never started takes its number too, and its input',
    log: [...asked, runEnded('rejected', { inputSeq: 3 })],
    part: (state) => [[...state.ordinals], inbox(state), state.lastRunId],
    is: [[['m', 1]], [], null],
  },
  {
    name: 'leaves its name and nothing else when it ends',
    log: [...begun, proceed('stop:1'), runEnded('completed')],
    part: ({ run, lastRunId, decisions }) => [run, lastRunId, decisions.size],
    is: [null, 's.m.1', 0],
  },
  {
    name: 'is paused until the next drive',
    log: [...begun, inRun('run_paused', { reason: 'approval', pending: [] })],
    part: ({ run }) => run?.paused,
    is: true,
  },
  {
    name: 'and then no longer',
    log: [...begun, inRun('run_paused', { reason: 'approval', pending: [] }), drive(2)],
    part: ({ run, epoch }) => [run?.paused, epoch],
    is: [false, 2],
  },
  {
    name: 'counts the time that drives were at work',
    log: [...begun, { ...turnEnded(0), at: AT + 50 }],
    part: ({ run }) => run?.activeMs,
    is: 50,
  },
  {
    name: 'and none that it was paused, or nobody drove it',
    log: [
      ...begun,
      { ...inRun('run_paused', { reason: 'approval', pending: [] }), at: AT + 50 },
      { ...steering('A'), at: AT + 80 },
      { type: 'input_rejected', at: AT + 85, inputSeq: 8, reason: 'No.' },
      drive(2, AT + 90),
      { ...turnEnded(0), at: AT + 100 },
    ],
    part: ({ run }) => run?.activeMs,
    is: 60,
  },
  {
    name: 'adds up what its replies used and cost',
    log: [...replied('One'), turnEnded(0), turnStarted(1), reply(['Two'])],
    part: ({ run }) => [run?.usage.input, run?.usage.output, run?.cost, run?.turns],
    is: [20, 4, 2, 2],
  },
  {
    name: 'costs an unknown sum once a part of it is unknown',
    log: [...replied('One'), turnEnded(0), turnStarted(1), reply(['Two'], { cost: null })],
    part: ({ run }) => run?.cost,
    is: null,
  },
  {
    name: 'hands over to another agent, which sees what it is shown',
    log: [
      ...replied('Hello.'),
      turnEnded(0),
      runEnded('completed', { handoff: { agentId: 'b', view: [{ type: 'kept', from: 1, count: 1 }] } }),
    ],
    part: (state) => [state.drivenBy, view(state)],
    is: ['b', ['assistant']],
  },
]);

rows('a turn', [
  {
    name: 'is counted once, whatever its attempts',
    log: [...begun, turnStarted(0, { attempt: 2 })],
    part: ({ run }) => [run?.turns, run?.turn?.attempt, run?.turn?.modelAttempt],
    is: [1, 2, 2],
  },
  {
    name: 'counts the attempts of each model by themselves',
    log: [...begun, turnStarted(0, { attempt: 2, modelIndex: 1 })],
    part: ({ run }) => [run?.modelIndex, run?.turn?.modelAttempt],
    is: [1, 1],
  },
  {
    name: 'knows when a failed call is made again',
    log: [
      ...begun,
      inRun('attempt_failed', {
        turnIndex: 0,
        attempt: 1,
        error: { kind: 'network' },
        retry: { delayMs: 5, modelIndex: 0 },
      }),
    ],
    part: ({ run }) => run?.turn?.failure?.retry,
    is: { at: AT + 5, modelIndex: 0 },
  },
  {
    name: 'has the calls of its reply',
    log: replied('Let me see.', call('c1', 'read'), call('c2', 'pick')),
    part: callsOf,
    is: ['c1 requested', 'c2 requested'],
  },
  {
    name: 'has no calls of a reply that is not in the view',
    log: [...begun, { ...reply([call('c1', 'read')]), inView: false } as DurableEventBody],
    part: (state) => [callsOf(state), view(state)],
    is: [[], ['user']],
  },
  {
    name: 'brings its results into the view in the order of the calls, when it ends',
    log: [
      ...replied(call('c1', 'read'), call('c2', 'read'), call('c3', 'read')),
      ...['c3', 'c1', 'c2'].flatMap((id) => [toolStarted(id, 'read'), toolEnded(id, 'read')]),
      turnEnded(0),
    ],
    part: view,
    is: ['user', 'assistant', 'result c1', 'result c2', 'result c3'],
  },
  {
    name: 'and none of them before',
    log: [...replied(call('c1', 'read')), toolStarted('c1', 'read'), toolEnded('c1', 'read')],
    part: view,
    is: ['user', 'assistant'],
  },
  {
    name: 'tells the next one how it came out',
    log: [
      ...replied(call('c1', 'read'), call('c2', 'read')),
      toolEnded('c1', 'read', { isError: true }),
      toolEnded('c2', 'read'),
      turnEnded(0),
    ],
    part: ({ run }) => [run?.turn, run?.last?.hadCalls, run?.last?.succeeded.map(({ callId }) => callId)],
    is: [null, true, ['c2']],
  },
  {
    name: 'takes its own decisions with it',
    log: [...begun, proceed('before_turn:0', { turnIndex: 0 }), proceed('stop:0'), turnEnded(0)],
    part: ({ decisions }) => [...decisions.keys()],
    is: ['stop:0'],
  },
  {
    name: 'cuts results that are too long for the view, which then has recall',
    log: [
      ...replied(call('c1', 'read')),
      toolEnded('c1', 'read', { content: [{ type: 'text', text: 'long '.repeat(1000) }] }),
      turnEnded(0, { resultsCut: { tokens: 100, recall: true } }),
    ],
    part: (state) => [JSON.stringify(state.view.at(-1)).length < 1500, state.wasCut],
    is: [true, true],
  },
]);

const one = replied(call('c1', 'write', { arguments: { path: 'a' } }));
const question = [...one, approvalRequested('c1', 'write', { expiresAt: AT + 9 })];

rows('a call', [
  {
    name: 'that started belongs to its drive',
    log: [...one, toolStarted('c1', 'write', { replay: 'safe' })],
    part: (state) => [callsOf(state), firstCall(state)?.epoch, firstCall(state)?.attempt, firstCall(state)?.replay],
    is: [['c1 started'], 1, 1, 'safe'],
  },
  {
    name: 'that ended has its result',
    log: [...one, toolStarted('c1', 'write'), toolEnded('c1', 'write')],
    part: (state) => [callsOf(state), firstCall(state)?.result?.isError],
    is: [['c1 ended'], false],
  },
  {
    name: 'that was rejected has an error for a result',
    log: [...one, toolRejected('c1', 'write', 'denied')],
    part: (state) => [firstCall(state)?.result?.isError, firstCall(state)?.overruled],
    is: [true, false],
  },
  {
    name: 'that was cancelled is not the fault of the model',
    log: [...one, toolRejected('c1', 'write', 'cancelled')],
    part: (state) => firstCall(state)?.overruled,
    is: true,
  },
  {
    name: 'that a limit refused uses up the calls of its run',
    log: [...one, toolRejected('c1', 'write', 'limit')],
    part: ({ run }) => run?.limits.callsUsedUp,
    is: true,
  },
  {
    name: 'is counted when it first starts, and not when it was skipped',
    log: [
      ...replied(call('c1', 'read'), call('c2', 'read')),
      toolStarted('c1', 'read'),
      toolStarted('c1', 'read', { attempt: 2 }),
      toolStarted('c2', 'read', { skipped: true }),
    ],
    part: ({ run }) => run?.limits.toolCalls,
    is: 1,
  },
  {
    name: 'that was skipped was never tried',
    log: [...one, toolStarted('c1', 'write', { skipped: true }), toolEnded('c1', 'write', { skipped: true })],
    part: (state) => [callsOf(state), firstCall(state)?.attempt, firstCall(state)?.overruled],
    is: [['c1 ended'], 0, true],
  },
  {
    name: 'that a person is asked about waits for the answer until it expires',
    log: question,
    part: (state) => [firstCall(state)?.approvalId, firstCall(state)?.decision, firstCall(state)?.expiresAt],
    is: ['ask c1', null, AT + 9],
  },
  {
    name: 'has the answer, which is used up',
    log: [
      ...question,
      posted({ type: 'approval_answer', approvalId: 'ask c1', decision: 'reject' }),
      inRun('approval_answered', { approvalId: 'ask c1', decision: 'reject', message: 'Not now.', inputSeq: 9 }),
    ],
    part: (state) => [firstCall(state)?.decision, firstCall(state)?.decisionMessage, inbox(state)],
    is: ['reject', 'Not now.', []],
  },
  {
    name: 'runs with the arguments that a hook gave it',
    log: [...one, decided('hook', 'before_tool:c1', { decision: 'proceed', input: { path: 'b' } }, { callId: 'c1' })],
    part: (state) => firstCall(state)?.arguments,
    is: { path: 'b' },
  },
  {
    name: 'or a person',
    log: [...one, allowed('c1', { arguments: { path: 'c' } })],
    part: (state) => firstCall(state)?.arguments,
    is: { path: 'c' },
  },
  {
    name: 'of a sub-agent is counted, and wakes when its session changed',
    log: [
      ...one,
      toolStarted('c1', 'write', { childSessionId: 'child' }),
      inRun('tool_paused', { turnIndex: 0, callId: 'c1', toolName: 'write', childSessionId: 'child', pending: [] }),
      posted({ type: 'child_updated', sessionId: 'child' }),
    ],
    part: (state) => [state.run?.children, firstCall(state)?.paused],
    is: [1, { pending: [], woken: true }],
  },
]);

const reserved = decided('budget', 's.m.1/0/1', { granted: true, reserved: 3, maxTokens: 9 }, { turnIndex: 0 });
const settled = (more: object) =>
  inRun('budget_settled', { turnIndex: 0, key: 's.m.1/0/1', reserved: 3, cost: 2, basis: 'usage', ...more });

rows('features', [
  {
    name: 'money is set aside',
    log: [...begun, reserved],
    part: ({ run }) => run?.limits.reservation,
    is: { key: 's.m.1/0/1', reserved: 3 },
  },
  {
    name: 'and settled',
    log: [...begun, reserved, settled({})],
    part: ({ run }) => [run?.limits.reservation, run?.limits.spent, run?.limits.overspent],
    is: [null, 2, false],
  },
  {
    name: 'a stream that was stopped for its cost has overspent',
    log: [...begun, reserved, settled({ basis: 'streamed' })],
    part: ({ run }) => run?.limits.overspent,
    is: true,
  },
  {
    name: 'a compaction replaces the view, once in its turn',
    log: [
      ...replied('Hello.'),
      turnEnded(0),
      turnStarted(1),
      inRun('compacted', {
        turnIndex: 1,
        trigger: 'auto',
        view: [
          { type: 'kept', from: 1, count: 1 },
          { type: 'message', message: message('m') },
        ],
        tokensAfter: 7,
      }),
    ],
    part: (state) => [view(state), state.compactedTo, state.run?.turn?.compacted],
    is: [['assistant', 'user'], 7, true],
  },
  {
    name: 'one that failed ends the run, unless somebody merely wished for it',
    log: [
      ...begun,
      inRun('compaction_failed', { turnIndex: 0, trigger: 'manual', reason: 'nothing_to_remove', message: 'No.' }),
    ],
    part: ({ run }) => [run?.turn?.compacted, run?.tooLong],
    is: [true, null],
  },
  {
    name: 'what a hook says is a note until the model is told',
    log: [...begun, decided('hook', 'before_turn:0', { decision: 'proceed', context: 'Be brief.' })],
    part: ({ notes }) => notes.map(({ text }) => text),
    is: ['Be brief.'],
  },
  {
    name: 'a hook may end the run',
    log: [...begun, decided('hook', 'before_turn:0', { decision: 'deny', endRun: 'Enough.' })],
    part: ({ run }) => run?.stop,
    is: { reason: 'Enough.' },
  },
  {
    name: 'answers that fail their check are counted',
    log: [...begun, decided('check', 'check:1', { ok: false })],
    part: ({ run }) => [run?.checksFailed, run?.outputsFailed],
    is: [1, 0],
  },
  {
    name: 'and those of the wrong form',
    log: [...begun, decided('check', 'output:1', { ok: false })],
    part: ({ run }) => [run?.checksFailed, run?.outputsFailed],
    is: [0, 1],
  },
  {
    name: 'a warned limit is not warned of again',
    log: [...begun, userMessage('reminder', 'Near.', { notice: { type: 'limit_warning', limit: 'turns' } })],
    part: ({ run }) => run?.limits.warned,
    is: ['turns'],
  },
  {
    name: 'the closing turn says how the run ends',
    log: [...started, turnStarted(0, { closing: { status: 'turn_limit', message: 'over' } })],
    part: ({ run }) => run?.limits.closing,
    is: { status: 'turn_limit', message: 'over' },
  },
  {
    name: 'a task is open from its beginning',
    log: [...begun, taskBegun('t1'), task('t1', 'running', { attempt: 1 })],
    part: ({ tasks }) => [[...(tasks?.open ?? [])], tasks?.all.get('t1')?.status],
    is: [['t1'], 'running'],
  },
  {
    name: 'until its end was noted and the model told of it',
    log: [
      ...begun,
      taskBegun('t1'),
      taskEnded('t1'),
      task('t1', 'completed', { inputSeq: 8 }),
      userMessage('task', 'All built.', { notice: { type: 'task', taskId: 't1', status: 'completed' } }),
    ],
    part: ({ tasks }) => [[...(tasks?.open ?? [])], tasks?.all.get('t1')?.status],
    is: [[], 'completed'],
  },
  {
    name: 'a fork closes the run that goes on in its parent, and takes over no inputs',
    log: [
      ...one,
      toolStarted('c1', 'write'),
      steering('A'),
      { ...createdHere, fork: { sessionId: 's', seq: 9 } } as DurableEventBody,
    ],
    part: (state) => [state.run?.isForked, firstCall(state)?.isForked, inbox(state), state.epoch],
    is: [true, true, [], 0],
  },
]);

describe('an event that fits nothing', () => {
  it.each<[string, readonly DurableEventBody[], string]>([
    ['of a run that is not open', [...opened, turnStarted(0)], "which isn't open"],
    ['of a turn, where none is open', [...started, turnEnded(0)], 'none is open'],
    ['of a call that the turn does not have', [...replied('Hello.'), toolEnded('c9', 'read')], "isn't in the turn"],
    ['of an unknown type', [...opened, { type: 'something', at: AT } as unknown as DurableEventBody], 'unknown type'],
  ])('is refused: one %s', (_, log, message) => {
    expect(() => stateOf(log)).toThrow(message);
  });
});
