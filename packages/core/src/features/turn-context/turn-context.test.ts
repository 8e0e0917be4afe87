import { describe, expect, it } from 'vitest';
import { scriptedModel, type Turn } from '@treadle/testing';
import type { ModelRequest } from '../../entries/model.ts';
import { createSession, defineAgent, defineTool, type TreadleEvent, type TurnContextOptions } from '../../index.ts';

const step = defineTool({ name: 'step', description: 'Does a step.', execute: () => 'stepped' });
const call: Turn = { toolCalls: [{ name: 'step' }] };

async function play(turnContext: TurnContextOptions, turns: readonly (Turn | string)[] = [call, call, 'Done.']) {
  const model = scriptedModel(turns);
  const session = await createSession(defineAgent({ model, tools: [step], turnContext }));
  const events: TreadleEvent[] = [];
  session.subscribe((event) => events.push(event));
  const result = await session.prompt('Go.').result;
  return { model, session, events, result };
}

const texts = (request: ModelRequest | undefined): string[] =>
  (request?.messages ?? []).flatMap(({ role, content }) =>
    content.flatMap((block) => (block.type === 'text' ? [`${role}: ${block.text}`] : [])),
  );

describe('what is to be known before a turn', () => {
  it('stands before the input: the plan, then what was found', async () => {
    const { model, session, result } = await play({ planning: () => '1. Go.', retrieved: () => 'Roads.' }, ['Done.']);
    expect(texts(model.requests[0])).toEqual([
      'user: # The plan as it stands now\n\n1. Go.',
      'user: # What may help with the next step\n\nRoads.',
      'user: Go.',
    ]);
    // It is for the model alone.
    expect(session.exportMessages().map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(result.messages).toHaveLength(2);
  });

  it('is said again only when it has changed, behind what was there before', async () => {
    const plans = ['a', 'a', 'b'];
    const { model } = await play({ planning: ({ turnIndex }) => plans[turnIndex] ?? null });
    const counts = model.requests.map((request) => texts(request).filter((text) => text.includes('The plan')).length);
    expect(counts).toEqual([1, 1, 2]);
    for (const [at, request] of model.requests.entries()) {
      const before = model.requests[at - 1]?.messages ?? [];
      expect(request.messages.slice(0, before.length)).toEqual(before);
    }
  });

  it('is asked once for each turn, and written down', async () => {
    const asked: number[] = [];
    const { events } = await play({
      retrieved: ({ turnIndex }) => {
        asked.push(turnIndex);
        return null;
      },
    });
    expect(asked).toEqual([0, 1, 2]);
    expect(events.filter((event) => event.type === 'decision_made')).toMatchObject([
      { kind: 'context', turnIndex: 0, decision: {} },
      { kind: 'context', turnIndex: 1 },
      { kind: 'context', turnIndex: 2 },
    ]);
  });

  it('is nothing when a provider fails; the run goes on, and observers are warned', async () => {
    const { events, result, model } = await play(
      {
        planning: () => {
          throw new Error('boom');
        },
        retrieved: () => 3 as unknown as string,
      },
      ['Done.'],
    );
    expect(result.status).toBe('completed');
    expect(texts(model.requests[0])).toEqual(['user: Go.']);
    expect(events.filter((event) => event.type === 'warning').map(({ message }) => message)).toEqual([
      'The planning provider failed: boom',
      'The retrieved provider answered with no text.',
    ]);
  });

  it('is refused when it is no function', () => {
    expect(() => defineAgent({ model: scriptedModel([]), turnContext: { planning: 'x' as never } })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });
});

describe('instructions as a function', () => {
  it('are the system prompt of each turn, asked once, and in the log', async () => {
    const model = scriptedModel([call, 'Done.']);
    const instructions = ({ turnIndex }: { readonly turnIndex: number }) => `Turn ${turnIndex}.`;
    const session = await createSession(defineAgent({ model, tools: [step], instructions }));
    const events: TreadleEvent[] = [];
    session.subscribe((event) => events.push(event));
    await session.prompt('Go.').result;
    expect(model.requests.map(({ system }) => system)).toEqual(['Turn 0.', 'Turn 1.']);
    expect(events.filter((event) => event.type === 'decision_made')).toMatchObject([
      { kind: 'context', turnIndex: 0, decision: { instructions: 'Turn 0.' } },
      { kind: 'context', turnIndex: 1, decision: { instructions: 'Turn 1.' } },
    ]);
  });

  it('that fail let no model be asked; the run goes on when they say something', async () => {
    const model = scriptedModel(['Done.']);
    let isDown = true;
    const instructions = () => {
      if (isDown) throw new Error('The file is gone.');
      return 'Be brief.';
    };
    const session = await createSession(defineAgent({ model, instructions }));
    await expect(session.prompt('Go.').result).rejects.toMatchObject({ code: 'instructions_failed' });
    expect(model.requests).toEqual([]);
    isDown = false;
    expect(await session.resume().result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(model.requests.map(({ system }) => system)).toEqual(['Be brief.']);
  });
});
