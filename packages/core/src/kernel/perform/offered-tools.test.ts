import { logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { createSession, defineAgent, defineTool, memoryJournal, openSession, type OfferedTool } from '../../index.ts';
import { initialState, reduce } from '../reduce.ts';
import { decodeState, encodeState } from '../snapshot/snapshot.ts';

const colour: OfferedTool = {
  name: 'set_colour',
  description: 'Colours the page.',
  inputSchema: { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] },
};
const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen by the server' });
const colourRed = { toolCalls: [{ name: 'set_colour', arguments: { colour: 'red' } }] };

const namesOf = (request: { readonly tools: readonly { readonly name: string }[] } | undefined) =>
  request?.tools.map(({ name }) => name);

describe('tools that a run’s client offers', () => {
  it('are the run’s own: told to the model, checked, answered by the client, in any process, and gone with the run', async () => {
    const model = scriptedModel([
      { toolCalls: [{ name: 'set_colour', arguments: { colour: 5 } }] },
      colourRed,
      'It is red.',
      colourRed,
      'There is no such tool.',
    ]);
    const agent = defineAgent({ model, tools: [look] });
    const journal = memoryJournal();
    const session = await createSession(agent, { journal, id: 's' });
    const paused = await session.prompt('Red!', { clientTools: [colour] }).result;
    expect(paused.pending).toMatchObject([{ toolName: 'set_colour', arguments: { colour: 'red' } }]);
    expect(namesOf(model.requests[0])).toEqual(['look', 'set_colour']);
    // Wrong arguments are refused as they are for any tool.
    expect(paused.messages.find(({ role }) => role === 'tool')).toMatchObject({ isError: true });

    const elsewhere = await openSession(agent, 's', { journal });
    expect(elsewhere.canResume).toBe(false);
    const [call] = elsewhere.pending;
    const run = elsewhere.addToolOutputs([{ callId: call?.callId ?? '', content: 'done' }]);
    expect((await run.result).text).toBe('It is red.');
    expect(namesOf(model.requests.at(-1))).toEqual(['look', 'set_colour']);

    const next = await elsewhere.prompt('Blue!').result;
    expect(namesOf(model.requests.at(-1))).toEqual(['look']);
    expect(next.pending).toEqual([]);
    expect(JSON.stringify(next.messages)).toContain('There is no tool named');
  });

  it('never take the place of a tool of the agent’s own', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done.']);
    const session = await createSession(defineAgent({ model, tools: [look] }));
    const result = await session.prompt('Look.', { clientTools: [{ ...colour, name: 'look' }] }).result;
    expect(JSON.stringify(result.messages)).toContain('seen by the server');
    expect(model.requests[0]?.tools).toMatchObject([{ name: 'look', description: 'Looks.' }]);
  });

  it('are under the rules of the agent, and of the session', async () => {
    const denied = scriptedModel(['Nothing.']);
    const knows = { tools: [look], knownTools: ['set_colour'] };
    const strict = defineAgent({ model: denied, ...knows, permissions: { deny: ['set_colour'] } });
    await (await createSession(strict)).prompt('Red!', { clientTools: [colour] }).result;
    expect(namesOf(denied.requests[0])).toEqual(['look']);

    const model = scriptedModel([colourRed, 'Done.']);
    const session = await createSession(defineAgent({ model, ...knows, permissions: { ask: ['set_colour'] } }));
    await session.updatePermissions([{ type: 'setMode', mode: 'default', destination: 'session' }]);
    const { pending } = await session.prompt('Red!', { clientTools: [colour] }).result;
    expect(pending).toMatchObject([{ toolName: 'set_colour', approvalId: expect.any(String) as string }]);
    expect(namesOf(model.requests[0])).toEqual(['look', 'set_colour']);
  });

  it('are refused when they can’t be tools', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel([]) }));
    for (const wrong of [
      { ...colour, name: 'not a name' },
      { ...colour, description: '' },
      { ...colour, inputSchema: { $ref: 'https://elsewhere.test/schema' } },
    ]) {
      expect(() => session.prompt('Red!', { clientTools: [wrong] })).toThrow(
        expect.objectContaining({ code: 'invalid_definition' }),
      );
    }
    expect(() => session.prompt('Red!', { clientTools: [colour, colour] })).toThrow(/Two of the offered tools/);
  });

  it('are in the log, and in a snapshot of what it comes to', async () => {
    const journal = memoryJournal();
    const agent = defineAgent({ model: scriptedModel([colourRed]) });
    const session = await createSession(agent, { journal, id: 's' });
    await session.prompt('Red!', { clientTools: [colour] }).result;
    const state = initialState('s');
    const log = await logOf(journal, 's');
    for (const event of log) reduce(state, event);
    expect(log.find(({ type }) => type === 'run_started')).toMatchObject({ clientTools: [colour] });
    const last = log.at(-1);
    const again = last && decodeState('s', encodeState(state, last));
    expect(again?.state.run?.clientTools).toEqual([colour]);
  });
});
