import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { createSession, defineAgent, defineTool, memoryJournal, openSession, type JsonObject } from '../../index.ts';

describe('the state that a client shares with tools', () => {
  it('is read from the context, set by results key by key, and known to another process', async () => {
    const seen: (JsonObject | undefined)[] = [];
    const set = defineTool({
      name: 'set',
      description: 'Sets a key.',
      inputSchema: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] },
      execute({ key }, { state }) {
        seen.push(state);
        return { content: 'Set.', state: { [key]: true } };
      },
    });
    // Calls of one turn run side by side, and each keeps what the other has set.
    const turn = { toolCalls: ['a', 'b'].map((key) => ({ name: 'set', arguments: { key } })) };
    const model = scriptedModel([turn, { toolCalls: [{ name: 'set', arguments: { key: 'c' } }] }, 'Done.']);
    const agent = defineAgent({ model, tools: [set] });
    const journal = memoryJournal();
    const session = await createSession(agent, { journal });
    await journal.post(session.id, { type: 'set_state', state: { page: 1 } }, 'state', 0);
    await session.prompt('Go.').result;
    await session.close();
    expect(seen).toEqual([{ page: 1 }, { page: 1 }, { page: 1, a: true, b: true }]);

    const again = scriptedModel([{ toolCalls: [{ name: 'set', arguments: { key: 'd' } }] }, 'Done.']);
    const other = await openSession(defineAgent({ model: again, tools: [set] }), session.id, { journal });
    await other.prompt('Again.').result;
    expect(seen.at(-1)).toEqual({ page: 1, a: true, b: true, c: true });
  });

  it('is absent where nobody has set it', async () => {
    let state: unknown = 'unset';
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      execute: (_, context) => {
        ({ state } = context);
      },
    });
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done.']);
    await (await createSession(defineAgent({ model, tools: [look] }))).prompt('Look.').result;
    expect(state).toBe(undefined);
  });
});

it('a prompt that may wait runs after the open run, and any other is rejected', async () => {
  const gate = Promise.withResolvers<void>();
  const slow = { text: 'One two.', chunkSize: 4, waitAfter: { deltas: 1, until: gate.promise } };
  const journal = memoryJournal();
  const session = await createSession(defineAgent({ model: scriptedModel([slow, 'Three.']) }), { journal });
  const types: string[] = [];
  session.subscribe((event) => types.push(event.type));
  const run = session.prompt('Count.');
  await expect.poll(() => types.includes('message_delta')).toBe(true);
  const messages = [{ content: [{ type: 'text' as const, text: 'Go on.' }] }];
  await journal.post(session.id, { type: 'prompt', messages, queued: true }, 'queued', 0);
  await journal.post(session.id, { type: 'prompt', messages }, 'plain', 0);
  gate.resolve();
  expect((await run.result).text).toBe('One two.');
  await session.refresh();
  if (session.canResume) await session.resume().result;
  await session.idle();
  expect(types.filter((type) => type === 'run_started')).toHaveLength(2);
  expect(types.filter((type) => type === 'input_rejected')).toHaveLength(1);
  expect(session.exportMessages().map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
});
