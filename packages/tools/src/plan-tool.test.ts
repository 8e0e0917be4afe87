import { createSession, defineAgent, memoryJournal } from '@treadle/core';
import { planFold } from '@treadle/core/projections';
import { logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { planTool } from './plan-tool.ts';

const call = (args: object) => ({ toolCalls: [{ name: 'update_plan', arguments: { ...args } }] });

describe('update_plan', () => {
  it('replaces the whole plan with each call, which the log then has', async () => {
    const journal = memoryJournal();
    const model = scriptedModel([
      call({ goal: 'No bug', steps: [{ description: 'Find it' }, { description: 'Fix it' }] }),
      call({
        goal: 'No bug',
        steps: [{ description: 'Find it', completed: true, result: 'in line 3' }, { description: 'Fix it' }],
      }),
      'Found.',
    ]);
    const session = await createSession(defineAgent({ model, tools: [planTool()] }), { journal });
    const { messages } = await session.prompt('Fix it.').result;
    expect(messages.flatMap((message) => (message.role === 'tool' ? message.content : []))).toEqual([
      { type: 'text', text: 'Noted: 0 of 2 steps done; now: Find it.' },
      { type: 'text', text: 'Noted: 1 of 2 steps done; now: Fix it.' },
    ]);
    const fold = planFold();
    for (const event of await logOf(journal, session.id)) fold.take(event);
    expect(fold.plan).toEqual({
      goal: 'No bug',
      steps: [
        { description: 'Find it', completed: true, result: 'in line 3' },
        { description: 'Fix it', completed: false, result: null },
      ],
      currentStep: 1,
    });
  });

  it('takes the step that the model says it is at, and passes over one that is not there', async () => {
    const journal = memoryJournal();
    const steps = [{ description: 'One' }, { description: 'Two' }];
    const model = scriptedModel([
      call({ goal: 'Both', steps, currentStep: 1 }),
      call({ goal: 'Both', steps, currentStep: 7 }),
      'Ok.',
    ]);
    const session = await createSession(defineAgent({ model, tools: [planTool()] }), { journal });
    await session.prompt('Go.').result;
    const fold = planFold();
    const places = (await logOf(journal, session.id)).flatMap((event) =>
      fold.take(event) ? [fold.plan?.currentStep] : [],
    );
    expect(places).toEqual([1, 0]);
  });

  it('is gone with the conversation', async () => {
    const journal = memoryJournal();
    const model = scriptedModel([call({ goal: 'It', steps: [] }), 'Ok.']);
    const session = await createSession(defineAgent({ model, tools: [planTool()] }), { journal });
    await session.prompt('Go.').result;
    await session.reset();
    const fold = planFold();
    for (const event of await logOf(journal, session.id)) fold.take(event);
    expect(fold.plan).toBeNull();
  });
});
