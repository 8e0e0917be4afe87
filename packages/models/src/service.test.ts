import { createSession, defineAgent, defineTool, memoryJournal, openSession } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { ANTHROPIC_FAMILIES } from './rules/anthropic.ts';
import { boundSignature } from './test-support/service/binding.ts';
import { failures, modelAt, strictProvider } from './test-support/service/cells.ts';
import { SERVICE_MODELS, type ServiceModel } from './test-support/service/models.ts';
import { familyOf } from './rules/rules.ts';
import { resolveModel } from './deployments.ts';

const serviceOf = (name: string): ServiceModel => {
  const found = SERVICE_MODELS.find((model) => model.name === name);
  if (found === undefined) throw new Error(`No service model is called ${name}.`);
  return found;
};

describe('at a provider that refuses what its service refuses', () => {
  it.each([
    'anthropic/claude-fable-5-2',
    'anthropic/claude-sonnet-5-5',
    'anthropic/claude-haiku-4-5',
    'openai/gpt-6.2-sol',
    'openai/gpt-5.6-sol',
    'google/gemini-4-argon',
    'google/gemini-2.5-flash',
    'xai/grok-4.7',
    'moonshot/kimi-k3.1-pro',
    'bedrock/anthropic.claude-opus-5-5',
  ])('every task of %s succeeds', async (name) => {
    expect(await failures(serviceOf(name))).toEqual({});
  });

  it('a model whose name nobody knows gets the rules of the newest', async () => {
    const newest = serviceOf('anthropic/claude-opus-5-5');
    expect(familyOf(ANTHROPIC_FAMILIES, 'claude-opera-9')).toBe(familyOf(ANTHROPIC_FAMILIES, 'claude-opus-5-5'));
    expect(await failures({ ...newest, name: 'anthropic/claude-opera-9' }, ['forced', 'temperature'])).toEqual({});
    const openai = serviceOf('openai/gpt-6.2-sol');
    expect(await failures({ ...openai, name: 'openai/gpt-7' }, ['two tools', 'temperature', 'off'])).toEqual({});
  });

  it('tools by a wire that refuses them are refused before a request, by a word of the other wire', async () => {
    const service = serviceOf('openai/gpt-6.1-sol');
    const found = await failures({ ...service, name: 'openai-chat/gpt-6.1-sol' }, ['two tools']);
    expect(found['two tools']).toContain('Use `openai/gpt-6.1-sol`, which speaks the Responses API');
    const none = await failures({ ...serviceOf('openai/gpt-6-sol'), name: 'openai-chat/gpt-6-sol' }, ['off']);
    expect(none).toEqual({});
  });
});

describe('thinking that is bound to its prefix', () => {
  const claude = serviceOf('anthropic/claude-fable-5-2');

  /** Fifty turns in a session whose instructions and tools change, that is compacted twice and opened again. */
  async function live(service: ServiceModel) {
    const journal = memoryJournal();
    await using provider = await strictProvider(service, (request, answered) => {
      const usage = { input: Math.ceil(request.rawBody.length / 4), output: 20 };
      return { thinking: `Thought ${answered}.`, text: `Answer ${answered}. ${'So it is. '.repeat(20)}`, usage };
    });
    const made = (instructions: string, tools: readonly string[]) =>
      defineAgent({
        model: modelAt(service, provider),
        instructions,
        tools: tools.map(toolOf),
        context: { window: 3000, reserve: 300 },
        retry: { initialDelayMs: 0 },
      });
    let compactions = 0;
    let refusals = 0;
    const statuses: string[] = [];
    const play = async (session: Awaited<ReturnType<typeof createSession>>, prompts: number) => {
      session.subscribe(({ type }) => {
        if (type === 'compacted') compactions++;
        if (type === 'attempt_failed') refusals++;
      });
      for (let index = 0; index < prompts; index++) {
        const { status, message } = await session.prompt(`Question ${statuses.length}.`).result;
        statuses.push(status === 'completed' ? status : `${status}: ${message ?? ''}`);
      }
    };
    await play(await createSession(made('Be brief.', ['look']), { journal, id: 's1' }), 20);
    await play(await openSession(made('Be long.', ['look']), 's1', { journal }), 10);
    await play(await openSession(made('Be long.', ['look', 'count']), 's1', { journal }), 10);
    await play(await openSession(made('Be long.', ['look', 'count']), 's1', { journal }), 10);
    return { statuses, compactions, refusals };
  }

  const toolOf = (name: string) => defineTool({ name, description: 'Does something.', execute: () => 'Done.' });

  it.each([
    ['the service drops it where it is told to', claude, 0],
    ['Bedrock has it left out after a refusal', serviceOf('bedrock/anthropic.claude-opus-5-5'), 10],
  ])('never ends a session of fifty turns: %s', async (_, service, mostRefusals) => {
    const { statuses, compactions, refusals } = await live(service);
    expect(statuses).toEqual(Array.from({ length: 50 }, () => 'completed'));
    expect(compactions).toBeGreaterThanOrEqual(2);
    expect(refusals).toBeLessThanOrEqual(mostRefusals);
  });

  it('is left out after one refusal where a server of the wire does not know the field', async () => {
    const plain = { ...claude, name: 'anthropic/claude-fable-5-2' };
    await using provider = await strictProvider(plain, (request) => ({
      content: [
        { type: 'thinking', text: 'Hm.', signature: boundSignature(request) },
        { type: 'text', text: 'Yes.' },
      ],
    }));
    const journal = memoryJournal();
    const model = () =>
      resolveModel(plain.name, {
        baseUrl: provider.anthropicBaseUrl,
        apiKey: 'k',
        env: {},
        // A gateway that keeps the field from the service, and its beta.
        headers: { 'anthropic-beta': 'none' },
      });
    const retry = { initialDelayMs: 0 };
    const first = await createSession(defineAgent({ model: model(), instructions: 'A', retry }), { journal, id: 's1' });
    expect((await first.prompt('Hi').result).status).toBe('completed');
    const again = await openSession(defineAgent({ model: model(), instructions: 'B', retry }), 's1', { journal });
    expect((await again.prompt('Hi').result).status).toBe('completed');
    expect((await again.prompt('Hi').result).status).toBe('completed');
    // One refusal for the field, one for the old thinking; then never again.
    expect(provider.requests).toHaveLength(2 + 3 + 1);
  });
});
