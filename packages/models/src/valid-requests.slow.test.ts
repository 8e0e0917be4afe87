// @module-tag slow

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type DurableEvent,
  type JsonObject,
  type Model,
  type Session,
} from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { journalOf, logOf, scriptedModel, type ScriptedToolCall, type Turn } from '@treadle/testing';
import { bodyText } from './test-support/body.ts';
import { WIRES, type Wire } from './test-support/judged-wires.ts';

// Whatever a run went through, and wherever it was cut off, the next request must be one the provider accepts. The
// judges are the strict validators of the fake provider, which know nothing of how requests are made.

const TOOLS = [
  defineTool({ name: 'fine', description: 'Works.', readOnly: true, execute: () => 'fine' }),
  defineTool({ name: 'silent', description: 'Says nothing.', execute: () => '' }),
  defineTool({ name: 'void', description: 'Returns nothing.', execute: () => {} }),
  defineTool({ name: 'data', description: 'Returns data.', execute: () => ({ rows: [1, null] }) }),
  defineTool({
    name: 'shows',
    description: 'Shows an image.',
    execute: () => [{ type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }],
  }),
  defineTool({ name: 'fails', description: 'Says it failed.', execute: () => ({ content: '', isError: true }) }),
  defineTool({ name: 'picker', description: 'Runs at the client.', runs: 'client' }),
];

const providerId = fc.constantFrom('call_1', 'call_1', '', 'fc-0', 'has spaces and ünicode', 'x'.repeat(90));

const call: fc.Arbitrary<ScriptedToolCall> = fc.record(
  {
    name: fc.constantFrom(...TOOLS.map(({ name }) => name), 'unknown'),
    argumentsText: fc.constantFrom('{}', '', '{"a": 1}', '{"a"', '[1]', 'null'),
    providerCallId: providerId,
  },
  { requiredKeys: ['name'] },
);

const turn: fc.Arbitrary<Turn> = fc.record(
  {
    thinking: fc.constantFrom('', 'Hm.'),
    text: fc.constantFrom('', ' ', 'Hello.', '\n\n', 'half a \ud83d', 'nul \u0000'),
    toolCalls: fc.array(call, { maxLength: 3 }),
    stopReason: fc.constantFrom('stop', 'tool_use', 'length', 'refusal', 'pause'),
    error: fc.record({ kind: fc.constantFrom('network', 'api'), afterDeltas: fc.constantFrom(0, 2, Infinity) }),
  },
  { requiredKeys: [] },
);

const user = fc.constantFrom('Go.', 'And\ud800 now?', ' padded ');

/** Awaits a run to its end, with results for whatever client tools it waits for. */
async function finish(session: Session, run: ReturnType<Session['prompt']>): Promise<void> {
  let result = await run.result;
  while (result.status === 'paused') {
    result = await session.addToolOutputs(result.pending.map(({ callId }) => ({ callId, content: '' }))).result;
  }
}

const done = Array.from({ length: 20 }, () => 'Done.');

/** Plays two prompts as `provider`, whose model says these turns. */
async function play(provider: string, turns: readonly Turn[], prompts: readonly string[]): Promise<DurableEvent[]> {
  const journal = memoryJournal();
  const agent = defineAgent({
    model: scriptedModel([...turns, ...done], { provider }),
    tools: TOOLS,
    retry: { maxRetries: 0 },
  });
  const session = await createSession(agent, { journal, id: 's1' });
  for (const prompt of prompts) await finish(session, session.prompt(prompt));
  return logOf(journal, 's1');
}

/** A model that hands each request to a wire's encoder and judge, and then says that it is done. */
function judged(wire: Wire, problems: string[]): Model {
  const encode = wire.protocol().createEncoder({ provider: wire.provider, modelId: 'model-1' });
  const inner = scriptedModel(done, { provider: wire.provider });
  return {
    provider: wire.provider,
    id: 'model-1',
    stream(request: ModelRequest, signal) {
      const body = JSON.parse(bodyText(encode(request).body)) as JsonObject;
      problems.push(...wire.validate(body));
      return inner.stream(request, signal);
    },
  };
}

describe.each(WIRES)('requests on the wire $name', (wire) => {
  async function expectValid(maker: string, numRuns: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { maxLength: 4 }),
        fc.array(user, { minLength: 1, maxLength: 2 }),
        async (turns, prompts) => {
          const events = await play(maker, turns, prompts);
          for (let length = 1; length <= events.length; length++) {
            const problems: string[] = [];
            const agent = defineAgent({ model: judged(wire, problems), tools: TOOLS, instructions: 'Be good.' });
            const session = await openSession(agent, 's1', { journal: await journalOf(events.slice(0, length)) });
            if (session.status !== 'idle') await finish(session, session.resume());
            await finish(session, session.prompt('And now?'));
            expect(problems).toEqual([]);
          }
        },
      ),
      { numRuns },
    );
  }

  // The history may have been made by the same provider or by another one.
  it.each([wire.provider, 'elsewhere'])('are valid after any prefix of any run of %s', async (maker) => {
    await expectValid(maker, 100);
  });

  it('are valid after any prefix of the first few runs', { tags: ['share'] }, async () => {
    await expectValid('elsewhere', 5);
  });
});
