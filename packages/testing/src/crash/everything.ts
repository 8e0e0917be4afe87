import { isDeepStrictEqual } from 'node:util';
import {
  createSession,
  defineAgent,
  defineHook,
  openSession,
  summarising,
  type Agent,
  type DurableEvent,
  type Journal,
  type RunResult,
  type Session,
} from '@treadle/core';
import { logOf } from '../log.ts';
import type { CrashLife } from './life.ts';
import type { CrashCourse } from './matrix.ts';
import type { CrashProcess } from './process.ts';
import { checkWorld, ledgerOf, memoryOf, modelOf, neverAgain, newWorld, tellWrong, toolsOf, worldOf } from './world.ts';

const SESSION = 's1';

/** Where a course keeps its log. */
export interface CrashStore {
  /** Opens it, as each process does. */
  open(): Promise<Journal>;
  /** A program whose processes open it too, for deaths by SIGKILL: it calls `crashProcess` with `everythingLife`. */
  readonly process?: CrashProcess;
  dispose?(): Promise<void>;
}

/**
 * One run with nearly everything in it, for `crashMatrix`: hooks that rewrite and add, memory, a shared ledger, parallel
 * tools of all replay policies, a client's tool, an approval, steering and a follow-up from elsewhere, a compaction, an
 * answer that is sent back. It takes an approval of every call that is in doubt.
 *
 * @example
 * ```ts
 * import { memoryJournal } from '@treadle/core';
 * import { crashMatrix, everythingScenario } from '@treadle/testing';
 *
 * const scenario = everythingScenario(() => {
 *   const journal = memoryJournal();
 *   return { open: async () => journal };
 * });
 * const report = await crashMatrix(scenario, { moments: (moment) => moment % 50 === 0 });
 * console.log(report.courses > 1); // true
 * ```
 */
export function everythingScenario(makeStore: () => CrashStore | Promise<CrashStore>): () => Promise<CrashCourse> {
  return async () => {
    const store = await makeStore();
    const world = newWorld(await store.open());
    return {
      sessionId: SESSION,
      open: () => store.open(),
      live: everythingLife,
      outcome: async (log, deaths) => {
        await checkWorld(world, log, deaths);
        return { said: saidIn(log), end: endOf(log), remembered: world.memory.runs.map(({ answer }) => answer) };
      },
      world: worldOf(world, SESSION),
      ...(store.process ? { process: store.process } : {}),
      ...(store.dispose ? { dispose: () => store.dispose?.() ?? Promise.resolve() } : {}),
    };
  };
}

/** What a process does in `everythingScenario`, whatever the ones before it came to. */
export async function everythingLife(life: CrashLife): Promise<void> {
  const { journal, clock, ids } = life;
  const options = { journal, clock, ids, onObserverError: () => {} };
  const agent = agentOf(life);
  const { sessions } = await journal.list();
  const session =
    sessions.length > 0
      ? await openSession(agent, SESSION, options)
      : await createSession(agent, { ...options, id: SESSION });
  let result: RunResult | null = null;
  if (session.status !== 'idle') result = await session.resume().result;
  else if ((await inputsOf(journal, 'prompt')) === 0) result = await session.prompt('Do it all.').result;
  while (result?.status === 'paused') result = await answer(session, result, journal);
  const { messages } = await openSession(agent, SESSION, options);
  if (!isDeepStrictEqual(messages, session.messages)) tellWrong(life, 'the log gives another state than it was');
}

const inputsOf = async (journal: Journal, type: string): Promise<number> =>
  (await logOf(journal, SESSION)).filter((event) => event.type === 'input_received' && event.input.type === type)
    .length;

/** The browser, and the person in front of it. */
async function answer(session: Session, { pending }: RunResult, journal: Journal): Promise<RunResult> {
  const question = pending.find(({ approvalId }) => approvalId !== undefined);
  if (question?.approvalId !== undefined) return session.approve(question.approvalId).result;
  // Who steers and dies looks whether it was heard. What was said by the tool is in the log already.
  if ((await inputsOf(journal, 'steering')) < 2) await session.steer('Take blue.');
  return session.addToolOutputs(pending.map(({ callId }) => ({ callId, content: 'blue' }))).result;
}

function agentOf(life: CrashLife): Agent {
  const once = (about: string, isAnswer: (key: string) => boolean): void => neverAgain(life, about, isAnswer);
  let drafts = 0;
  for (const event of life.acknowledged.values()) {
    if (event.type === 'decision_made' && event.kind === 'check') drafts += 1;
  }
  return defineAgent({
    model: modelOf(life),
    tools: toolsOf(life),
    memory: memoryOf(life),
    maxTokens: 300,
    limits: { maxCost: 10 },
    budget: { ledger: ledgerOf(life) },
    context: { recall: false, strategy: summarising({ keepRecentTurns: 1, clearAtLeast: 100, maxTokens: 100 }) },
    hooks: [
      defineHook('user_prompt_submit', () => {
        once('the prompt', (key) => key.startsWith('user_prompt_submit:'));
        return life.effect('a hook of the prompt', () => ({ context: 'It is Monday.' }));
      }),
      defineHook('before_turn', ({ turnIndex }) => {
        once(`turn ${turnIndex}`, (key) => key === `before_turn:${turnIndex}`);
        return life.effect('a hook before a turn', () => undefined);
      }),
      defineHook(
        'before_tool',
        ({ callId }) => {
          once(`before ${callId}`, (key) => key === `before_tool:${callId}`);
          return life.effect('a hook before a tool', () => ({ input: { path: 'final' } }));
        },
        { matcher: 'write' },
      ),
      defineHook(
        'after_tool',
        ({ callId }) => {
          once(`after ${callId}`, (key) => key === `after_tool:${callId}`);
          return life.effect('a hook after a tool', () => ({ context: 'Well done.', output: 'seen and written' }));
        },
        { matcher: 'write' },
      ),
      defineHook('stop', () => life.effect('a hook at the end', () => undefined)),
    ],
    outputGuardrails: [
      async (text) => {
        if (text === 'Draft.' ? drafts > 0 : drafts > 1) tellWrong(life, `${text} was checked again`);
        return life.effect('a check', () =>
          text === 'Final.' ? { ok: true } : { ok: false, message: 'Say that it is final.' },
        );
      },
    ],
  });
}

/**
 * What was said and done, as the log has it: the messages in their order, then the results. What a death made of the call
 * that may not run twice is left out; that it has a result, and that the effect is not repeated, is checked elsewhere.
 */
function saidIn(log: readonly DurableEvent[]): string[] {
  const said = log.flatMap((event) => {
    if (event.type !== 'message_added' || !event.inView || event.message.role === 'extension') return [];
    const { message } = event;
    const content = message.content.map((block) => (block.type === 'text' ? block.text : block.type));
    return [`${message.role === 'user' ? message.origin : message.role}: ${content.join(' ')}`];
  });
  const results = log.flatMap((event) =>
    event.type === 'tool_ended' && event.toolName !== 'charge'
      ? [`${event.toolName}: ${event.content.map((block) => (block.type === 'text' ? block.text : '')).join('')}`]
      : [],
  );
  return [...said, ...results.toSorted()];
}

const endOf = (log: readonly DurableEvent[]): string[] =>
  log.flatMap((event) => (event.type === 'run_ended' ? [`${event.status} after ${event.turns} turns`] : []));
