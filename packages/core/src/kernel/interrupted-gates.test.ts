import { describe, expect, it } from 'vitest';
import { logOf, scriptedModel, testClock, type TestClock } from '@treadle/testing';
import type { CompactionPhase } from '../entries/context.ts';
import type { ToolAccess } from '../entries/tools.ts';
import {
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  memoryJournal,
  openSession,
  type AgentDefinition,
  type DurableEvent,
  type Journal,
  type Session,
} from '../index.ts';

/** A loop that goes round without getting anywhere never lets a test's own timeout fire: it asks for the time, though. */
function impatient(): TestClock {
  const clock = testClock();
  let asked = 0;
  const now = (): number => {
    asked += 1;
    if (asked > 2000) throw new Error('The loop goes round and round.');
    return clock.now();
  };
  return { ...clock, now, after: clock.after.bind(clock), advance: clock.advance.bind(clock) };
}

const settle = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await new Promise<void>((resolve) => setImmediate(resolve));
};

const open = (journal: Journal, definition: AgentDefinition, clock: TestClock): Promise<Session> =>
  createSession(defineAgent(definition), { journal, clock, id: 's1' });

const post = (journal: Journal, text: string): Promise<{ readonly seq: number }> =>
  journal.post('s1', { type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }, `key ${text}`, 0);

const ends = async (journal: Journal): Promise<string[]> =>
  (await logOf(journal, 's1')).flatMap((event) => (event.type === 'run_ended' ? [event.status] : []));

const inputOf = (log: readonly DurableEvent[], id: string): number =>
  log.flatMap((event) => (event.type === 'run_started' && event.runId === id ? [event.inputSeq] : []))[0] ?? 0;

const never = new Promise<never>(() => {});

describe('Time that runs out', () => {
  const asked: Record<string, () => Partial<AgentDefinition>> = {
    'a stop hook': () => ({ hooks: [defineHook('stop', () => never)] }),
    'a check of the answer': () => ({ outputGuardrails: [() => never] }),
  };

  it.each(Object.keys(asked))('while %s is asked about the end of a run ends it', async (who) => {
    const clock = impatient();
    const journal = memoryJournal();
    const model = scriptedModel(['Done.']);
    const session = await open(journal, { model, limits: { maxDurationMs: 5000 }, ...asked[who]?.() }, clock);
    const run = session.prompt('Go.');
    await settle();
    await clock.advance(5000);
    expect(await run.result).toMatchObject({ status: 'time_limit', text: 'Done.' });
    expect(await ends(journal)).toEqual(['time_limit']);
  });
});

describe('A memory', () => {
  it('that is slow takes nothing from an answer that stands', async () => {
    const clock = impatient();
    const memory = { retrieve: async () => [], update: () => never };
    const definition = { model: scriptedModel(['Done.']), limits: { maxDurationMs: 5000 }, memory };
    const session = await open(memoryJournal(), definition, clock);
    const run = session.prompt('Go.');
    await settle();
    await clock.advance(5000);
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
  });
});

describe('A phase of a compaction', () => {
  it('that never comes back ends with the run, and asks nobody for a summary later', async () => {
    const clock = impatient();
    const journal = memoryJournal();
    const late = Promise.withResolvers<void>();
    const phase: CompactionPhase = {
      name: 'hangs',
      async apply(view, { summarise }) {
        await late.promise;
        await summarise(view, { maxTokens: 10, replaces: 1000 });
        return view;
      },
    };
    const model = scriptedModel(['Done.']);
    const context = { window: 100, strategy: { name: 'own', phases: [phase] } };
    const session = await open(journal, { model, context }, clock);
    const run = session.prompt('word '.repeat(1000));
    await settle();
    await run.abort();
    expect((await run.result).status).toBe('aborted');
    late.resolve();
    await settle();
    expect(model.requests).toHaveLength(0);
    expect(await ends(journal)).toEqual(['aborted']);
  });
});

describe('A run that was cut short', () => {
  it.each(['cancelled', 'out of time'] as const)('leaves the next one its gates: %s', async (how) => {
    const clock = impatient();
    const journal = memoryJournal();
    let asked = 0;
    const hook = defineHook('before_run', async () => {
      asked += 1;
      // It waits for its turn, in the same drive.
      if (asked === 1) await post(journal, 'Two?');
    });
    const model = scriptedModel([{ text: 'One.', wait: never }, 'Two.']);
    const session = await open(journal, { model, hooks: [hook], limits: { maxDurationMs: 5000 } }, clock);
    const run = session.prompt('One?');
    const id = await run.id;
    await settle();
    if (how === 'out of time') await clock.advance(5000);
    else await journal.post('s1', { type: 'cancel', inputSeq: inputOf(await logOf(journal, 's1'), id) }, 'key', 0);
    await session.idle();
    expect(asked).toBe(2);
    expect(await ends(journal)).toEqual([how === 'cancelled' ? 'aborted' : 'time_limit', 'completed']);
  });

  it('before it began, leaves the one before it alone', async () => {
    const clock = impatient();
    const journal = memoryJournal();
    const gate = Promise.withResolvers<undefined>();
    let asked = 0;
    const hook = defineHook('before_run', () => {
      asked += 1;
      return gate.promise;
    });
    const session = await open(journal, { model: scriptedModel(['One.']), hooks: [hook] }, clock);
    const run = session.prompt('One?');
    await settle();
    const { seq } = await post(journal, 'Two?');
    await journal.post('s1', { type: 'cancel', inputSeq: seq }, 'key cancel', 0);
    await settle();
    gate.resolve(undefined);
    expect((await run.result).status).toBe('completed');
    await settle();
    expect(await ends(journal)).toEqual(['completed', 'aborted']);
    // Once: the question was not given up with the run that it wasn't about.
    expect(asked).toBe(1);
  });

  it('is not written to by a tool that says late what its call touches', async () => {
    const clock = impatient();
    const journal = memoryJournal();
    const late = Promise.withResolvers<ToolAccess>();
    const write = defineTool({
      name: 'write',
      description: 'Writes.',
      inputSchema: { type: 'object' },
      access: () => late.promise,
      execute: () => 'written',
    });
    const two = Promise.withResolvers<void>();
    const model = scriptedModel([{ toolCalls: [{ name: 'write' }] }, { text: 'Two.', wait: two.promise }]);
    const definition = { model, tools: [write] };
    const session = await open(journal, definition, clock);
    const run = session.prompt('One?');
    await settle();
    session.subscribe((event) => {
      if (event.type === 'input_received' && event.input.type === 'cancel') void post(journal, 'Two?');
    });
    await run.abort();
    await settle();
    late.resolve({ paths: [{ path: '/work/a', write: true }] });
    await settle();
    two.resolve();
    await run.result;
    await session.idle();
    // The log is one that can be read, and nobody is asked about a call that has its result.
    const log = await logOf(journal, 's1');
    expect(log.filter(({ type }) => type === 'approval_requested')).toEqual([]);
    const again = await openSession(defineAgent(definition), 's1', { journal, clock });
    if (again.status !== 'idle') await again.resume().result;
    expect(await ends(journal)).toEqual(['aborted', 'completed']);
  });
});
