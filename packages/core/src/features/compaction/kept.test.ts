import { describe, expect, it } from 'vitest';
import { scriptedModel, testClock, type Turn } from '@treadle/testing';
import type { CompactionNews } from '../../entries/features.ts';
import { todoFold } from '../../entries/projections.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  pruneOldest,
  slidingWindow,
  summarising,
  type AgentDefinition,
  type Memory,
  type TreadleEvent,
} from '../../index.ts';

const looks = defineTool({ name: 'look', description: 'Looks.', execute: () => 'x'.repeat(1000) });
const todo = defineTool({
  name: 'todo',
  description: 'Notes.',
  inputSchema: { type: 'object' },
  execute: (args) => ({ content: 'Noted.', details: args }),
});

const item = (content: string, status: string) => ({ content, status, activeForm: content });
const notes = (...todos: readonly object[]): Turn => ({
  toolCalls: [{ name: 'todo', arguments: { todos: todos as never } }],
  usage: null,
});
// No usage reported: views are measured by estimate.
const LOOK: Turn = { toolCalls: [{ name: 'look' }], usage: null };

async function play(script: readonly Turn[], over: Partial<AgentDefinition> = {}, clock = testClock()) {
  const model = scriptedModel([...script, 'Done.'], { clock });
  const context = { window: 2000, strategy: pruneOldest() };
  const agent = defineAgent({ model, tools: [looks, todo], context, loopDetection: false, ...over });
  const journal = memoryJournal();
  const session = await createSession(agent, { journal, clock });
  const events: TreadleEvent[] = [];
  session.subscribe((event) => void events.push(event));
  const result = await session.prompt('Work.').result;
  return { session, journal, agent, model, result, events };
}

describe('what is still to be done', () => {
  const look = (times: number): Turn[] => Array.from({ length: times }, () => LOOK);
  const script = [...look(3), notes(item('Read', 'completed'), item('Fix the roof', 'in_progress')), ...look(12)];
  const strategies = {
    pruneOldest: [pruneOldest()],
    slidingWindow: [slidingWindow(), pruneOldest()],
    summarising: [summarising()],
  };

  it.each(Object.entries(strategies))(
    'C8: is before the model in every request, however often it is compacted: %s',
    async (_, strategy) => {
      const turns = script.values();
      const model = scriptedModel(({ toolChoice }) =>
        toolChoice === 'none' ? 'A summary.' : (turns.next().value ?? 'Done.'),
      );
      const { events, result } = await play([], { model, context: { window: 2000, strategy } });
      expect(result.status).toBe('completed');
      expect(events.filter(({ type }) => type === 'compacted').length).toBeGreaterThan(1);
      const asked = model.requests.filter(({ toolChoice }) => toolChoice !== 'none').slice(4);
      expect(asked.length).toBe(13);
      for (const { messages } of asked) expect(JSON.stringify(messages)).toContain('Fix the roof');
    },
  );

  it('is let go once all is done', async () => {
    const { session, events } = await play([...script, notes(item('Fix the roof', 'completed')), ...look(12)]);
    expect(JSON.stringify(session.messages)).not.toContain('Fix the roof');
    const list = todoFold();
    for (const event of events) if ('seq' in event) list.take(event);
    expect(list.items).toEqual([item('Fix the roof', 'completed')]);
  });
});

describe('a memory', () => {
  const script = Array.from({ length: 8 }, () => LOOK);
  const listening = (over: Partial<Memory> = {}) => {
    const heard: (readonly [string, CompactionNews])[] = [];
    const memory: Memory = {
      retrieve: async () => [],
      update: async () => {},
      beforeCompaction: async (news) => void heard.push(['before', news]),
      afterCompaction: async (news) => void heard.push(['after', news]),
      ...over,
    };
    return { memory, heard };
  };

  it('is told before a compaction what there is, and after it what is left', async () => {
    const { memory, heard } = listening();
    const { result, events } = await play(script, { memory });
    const compacted = events.filter(({ type }) => type === 'compacted');
    expect(heard.map(([moment]) => moment)).toEqual(compacted.flatMap(() => ['before', 'after']));
    const [before, after] = heard.map(([, news]) => news);
    expect(before).toMatchObject({ runId: result.runId, agentId: 'agent' });
    expect(after?.messages.length).toBeLessThan(before?.messages.length ?? 0);
  });

  it('is not told of the end of a compaction that came to nothing', async () => {
    const { memory, heard } = listening();
    const strategy = summarising();
    const failing: Turn = { error: { kind: 'api', message: 'no', retryable: false } };
    const model = scriptedModel(({ toolChoice, messages }) =>
      toolChoice === 'none' ? failing : messages.length < 12 ? LOOK : 'Done.',
    );
    await play([], { memory, model, context: { window: 2000, strategy, summary: { maxRetries: 0 } } });
    expect(heard.map(([moment]) => moment)).toContain('before');
    expect(heard.map(([moment]) => moment)).not.toContain('after');
  });

  it('that fails or hangs at it costs a warning, and the compaction goes on', async () => {
    const { memory } = listening({ beforeCompaction: () => Promise.reject(new Error('disk full')) });
    const { result, events } = await play(script, { memory });
    expect(result.status).toBe('completed');
    expect(events.some(({ type }) => type === 'compacted')).toBe(true);
    expect(events.find(({ type }) => type === 'warning')).toMatchObject({
      code: 'memory_failed',
      message: 'The memory failed: disk full. It was told of a compaction (beforeCompaction).',
    });
  });
});
