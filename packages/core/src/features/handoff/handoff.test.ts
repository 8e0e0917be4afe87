import { logOf, scriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../entries/model.ts';
import type { Handoff } from '../../entries/tools.ts';
import { createSession, defineAgent, handoffTool, memoryJournal, openSession, type Agent } from '../../index.ts';

const HAND_OFF: Turn = {
  toolCalls: [{ name: 'hand_off_to_billing', arguments: { message: 'Wants an invoice.' } }],
};

const billingAgent = (): Agent & { readonly requests: () => readonly ModelRequest[] } => {
  const model = scriptedModel(['It is on its way.', 'You are welcome.']);
  return { ...defineAgent({ id: 'billing', model }), requests: () => model.requests };
};

const deskAgent = (filter?: Handoff['filter']): Agent =>
  defineAgent({
    id: 'desk',
    model: scriptedModel(['Hello.', HAND_OFF]),
    tools: [handoffTool('billing', { description: 'For invoices.', ...(filter ? { filter } : {}) })],
  });

const rolesOf = (request: ModelRequest | undefined): string[] => (request?.messages ?? []).map(({ role }) => role);

describe('a handoff', () => {
  it('ends the run as a stop tool does, and the other agent drives from the next one on', async () => {
    const billing = billingAgent();
    const session = await createSession(deskAgent(), { agents: [billing] });
    await session.prompt('Hi.').result;
    expect(session.agent.id).toBe('desk');
    const result = await session.prompt('I need an invoice.').result;
    expect(result).toMatchObject({ status: 'completed', stopTool: { name: 'hand_off_to_billing' } });
    expect(session.agent.id).toBe('billing');
    expect((await session.continue().result).text).toBe('It is on its way.');
    expect((await session.prompt('Thanks.').result).text).toBe('You are welcome.');
    expect(rolesOf(billing.requests()[0])).toEqual(['user', 'assistant', 'user', 'assistant', 'tool']);
  });

  it('holds in another process, which must know the agent', async () => {
    const journal = memoryJournal();
    const session = await createSession(deskAgent(), { journal, id: 's', agents: [billingAgent()] });
    await session.prompt('Hi.').result;
    await session.prompt('I need an invoice.').result;
    const later = await openSession(deskAgent(), 's', { journal, agents: [billingAgent()] });
    expect(later.agent.id).toBe('billing');
    expect((await later.continue().result).text).toBe('It is on its way.');
    const runs = (await logOf(journal, 's')).flatMap((event) => (event.type === 'run_started' ? [event.agentId] : []));
    expect(runs).toEqual(['desk', 'desk', 'billing']);
    await expect(openSession(deskAgent(), 's', { journal })).rejects.toMatchObject({ code: 'invalid_definition' });
  });

  it('shows the other agent what its filter leaves, once, and calls only with their results', async () => {
    const billing = billingAgent();
    let asked = 0;
    const filter: Handoff['filter'] = (messages) => {
      asked += 1;
      // The last prompt, and a call without its result: the call is left out too.
      return messages.filter(({ role }, index) => index >= 2 && role !== 'tool');
    };
    const journal = memoryJournal();
    const session = await createSession(deskAgent(filter), { journal, id: 's', agents: [billing] });
    await session.prompt('Hi.').result;
    await session.prompt('I need an invoice.').result;
    const later = await openSession(deskAgent(filter), 's', { journal, agents: [billing] });
    await later.continue().result;
    expect(rolesOf(billing.requests()[0])).toEqual(['user']);
    expect(asked).toBe(1);
  });

  it('shows nothing when the filter fails', async () => {
    const billing = billingAgent();
    const filter: Handoff['filter'] = () => {
      throw new Error('broken');
    };
    const session = await createSession(deskAgent(filter), { agents: [billing] });
    const warnings: string[] = [];
    session.subscribe((event) => {
      if (event.type === 'warning') warnings.push(event.message);
    });
    await session.prompt('Hi.').result;
    await session.prompt('I need an invoice.').result;
    expect(warnings.join()).toMatch(/shown nothing of the conversation: .*broken/);
    await session.prompt('Are you there?').result;
    expect(rolesOf(billing.requests()[0])).toEqual(['user']);
  });
});
