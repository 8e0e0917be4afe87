import { logOf, scriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { CompactionPhase } from '../../entries/context.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  handoffTool,
  memoryJournal,
  openSession,
  type AgentDefinition,
  type Message,
} from '../../index.ts';
import { foldLog } from '../../test-support/corpus.ts';
import { decodeState, encodeState } from '../../kernel/snapshot/snapshot.ts';

/** A tool that says it read or wrote something, and one that asks what is known of it. */
function tools() {
  const said: unknown[] = [];
  const look = defineTool({
    name: 'look',
    description: 'Says that it read or wrote.',
    inputSchema: { type: 'object' },
    execution: 'sequential',
    execute: ({ reads }) => ({ content: `Looked. ${'x'.repeat(3000)}`, reads: reads as never }),
  });
  const known = defineTool({
    name: 'known',
    description: 'Asks what is known.',
    inputSchema: { type: 'object' },
    execution: 'sequential',
    execute(_, { lastRead }) {
      said.push(lastRead('a'));
      return 'Asked.';
    },
  });
  return { said, tools: [look, known] };
}

const look = (...reads: readonly unknown[]) => ({ name: 'look', arguments: { reads: reads as never } });
const ask = { name: 'known', arguments: {} };
const turn = (...toolCalls: NonNullable<Exclude<Turn, string>['toolCalls']>): Turn => ({ toolCalls, usage: null });

async function play(turns: readonly Turn[], more: Partial<AgentDefinition> = {}) {
  const { said, tools: own } = tools();
  const journal = memoryJournal();
  const definition = { model: scriptedModel([...turns, 'Done.', 'Done.']), tools: own, ...more };
  const session = await createSession(defineAgent(definition), { id: 's', journal });
  await session.prompt('Go.').result;
  return { said, session, journal };
}

describe('what a tool says that it read', () => {
  it('is known to later calls from the next reply on', async () => {
    const read = look({ path: 'a', hash: '1' });
    const { said } = await play([
      turn(ask, read, ask),
      turn(ask),
      turn(look({ path: 'a', hash: '2' }), ask),
      turn(ask),
    ]);
    expect(said).toEqual([null, null, '1', '1', '2']);
  });

  it('is known at once when it wrote it', async () => {
    const wrote = (hash: string) => look({ path: 'a', hash, written: true });
    const { said } = await play([turn(ask, wrote('1'), ask, wrote('2'), ask), turn(ask)]);
    expect(said).toEqual([null, '1', '2', '2']);
  });

  it('is the last of one turn, in the order of its calls', async () => {
    const { said } = await play([
      turn(look({ path: 'a', hash: '1', written: true }), look({ path: 'a', hash: '2' })),
      turn(ask),
    ]);
    expect(said).toEqual(['2']);
  });

  it.each([[undefined], ['a'], [[null, 'a', 1, {}, { path: 'a' }, { path: 1, hash: '1' }, { path: 'a', hash: 1 }]]])(
    'is left out where it has another form: %j',
    async (reads) => {
      const { said, journal } = await play([{ toolCalls: [{ name: 'look', arguments: { reads } }] }, turn(ask)]);
      expect(said).toEqual([null]);
      expect(JSON.stringify((await logOf(journal, 's')).filter(({ type }) => type === 'tool_ended'))).not.toContain(
        '"reads"',
      );
    },
  );

  it('is in a snapshot', async () => {
    const { journal } = await play([
      turn(look({ path: '__proto__', hash: '1' }, { path: 'a', hash: '2', written: true })),
    ]);
    const log = await logOf(journal, 's');
    const state = foldLog(log);
    const [last] = log.slice(-1);
    if (!last) throw new Error('no log');
    expect([...state.reads.keys()]).toEqual(['__proto__', 'a']);
    expect(decodeState('s', encodeState(state, last))?.state).toEqual(state);
  });

  it('is known to another process, and to nobody who has another conversation', async () => {
    const { journal } = await play([turn(look({ path: 'a', hash: '1' }))]);
    const { said, tools: own } = tools();
    const agent = defineAgent({ model: scriptedModel([turn(ask), 'Done.', turn(ask), 'Done.']), tools: own });
    const session = await openSession(agent, 's', { journal });
    await session.prompt('Go on.').result;
    await session.importMessages([{ role: 'user', origin: 'import', content: [{ type: 'text', text: 'Earlier.' }] }]);
    await session.continue().result;
    expect(said).toEqual(['1', null]);
  });
});

/** A compaction that shortens the messages it is told to. */
const shortening = (role: Message['role']): CompactionPhase => ({
  name: 'shorten',
  apply: (view) =>
    view.map((message): Message => {
      if (message.role !== role) return message;
      if (message.role === 'tool') return { ...message, content: [{ type: 'text', text: 'Short.' }] };
      if (message.role !== 'assistant') return message;
      const content = message.content.map((block) =>
        block.type === 'tool_call' ? { ...block, arguments: { removed: 'Short.' } } : block,
      );
      return { ...message, content };
    }),
});

describe('a compaction', () => {
  const long = { text: 'x'.repeat(3000) };
  const afterShortening = async (role: Message['role'], ...reads: readonly object[]): Promise<unknown> => {
    const call = { name: 'look', arguments: { reads: reads as never, ...long } };
    const context = { strategy: { name: 'shorten', phases: [shortening(role)] }, recall: false };
    const { said, session } = await play([turn(call), { text: 'Read.' }, turn(ask)], { context });
    expect(await session.compact()).toMatchObject({ type: 'compacted', phases: ['shorten'] });
    await session.prompt('And now?').result;
    return said[0];
  };

  it('that shortens a result takes away what it told', async () => {
    expect(await afterShortening('tool', { path: 'a', hash: '1' })).toBeNull();
    expect(await afterShortening('tool', { path: 'a', hash: '1', written: true })).toBeNull();
  });

  it('that shortens a call takes away what it wrote, and not what it read', async () => {
    expect(await afterShortening('assistant', { path: 'a', hash: '1' })).toBe('1');
    expect(await afterShortening('assistant', { path: 'a', hash: '1', written: true })).toBeNull();
  });
});

it('who takes a session over knows only what it is shown', async () => {
  for (const [shown, known] of [
    [true, '1'],
    [false, null],
  ] as const) {
    const { said, tools: own } = tools();
    const other = defineAgent({ id: 'other', model: scriptedModel([turn(ask), 'Done.']), tools: own });
    const filter = (messages: readonly Message[]) => (shown ? messages : messages.slice(0, 1));
    const handoff = handoffTool('other', { description: 'Takes over.', filter });
    const model = scriptedModel([turn(look({ path: 'a', hash: '1' })), turn({ name: handoff.name, arguments: {} })]);
    const agent = defineAgent({ model, tools: [...tools().tools, handoff] });
    const session = await createSession(agent, { agents: [other] });
    await session.prompt('Go.').result;
    await session.prompt('And?').result;
    expect(said).toEqual([known]);
  }
});
