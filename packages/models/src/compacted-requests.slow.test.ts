// @module-tag slow

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  pruneOldest,
  slidingWindow,
  summarising,
  type DurableEvent,
  type JsonObject,
  type Model,
  type Session,
} from '@treadle/core';
import { blockOverlays, threeTiers, type CompactionStrategy } from '@treadle/core/context';
import type { ModelRequest } from '@treadle/core/model';
import { logOf, scriptedModel, type ScriptedToolCall, type Turn } from '@treadle/testing';
import { bodyText } from './test-support/body.ts';
import { WIRES, type Wire } from './test-support/judged-wires.ts';

// Whatever a conversation was, and however it was made smaller, the next request must be one the provider accepts, with all
// that is pinned in it.

const STRATEGIES: Readonly<Record<string, readonly CompactionStrategy[]>> = {
  'a summary': [summarising({ keepRecentTurns: 1, clearAtLeast: 1 })],
  'three tiers': [threeTiers({ maxLines: 4, keepFirst: 1, keepRecent: 2 })],
  'the sliding window': [slidingWindow({ maxLength: 100, keepResults: 1, keepRecent: 3 })],
  'pruning the oldest': [pruneOldest()],
  'block overlays': [blockOverlays({ keepFirstTurns: 1, keepRecentTurns: 1, keepRuns: 1, maxLines: 4 })],
};

const PINNED = 'Never go north.';

const TOOLS = [
  defineTool({ name: 'reads', description: 'Reads.', readOnly: true, execute: () => 'a line of text\n'.repeat(60) }),
  defineTool({ name: 'silent', description: 'Says nothing.', execute: () => '' }),
  defineTool({
    name: 'shows',
    description: 'Shows an image.',
    execute: () => [{ type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }],
  }),
  defineTool({
    name: 'fails',
    description: 'Says it failed.',
    execute: () => ({ content: 'x'.repeat(900), isError: true }),
  }),
  defineTool({ name: 'picker', description: 'Runs at the client.', runs: 'client' }),
];

const call: fc.Arbitrary<ScriptedToolCall> = fc.record(
  {
    name: fc.constantFrom(...TOOLS.map(({ name }) => name), 'reads', 'unknown'),
    argumentsText: fc.constantFrom('{}', '{"a": 1}', '{"a"', `{"text":"${'long '.repeat(400)}"}`),
    providerCallId: fc.constantFrom('call_1', 'call_1', '', 'fc-0'),
  },
  { requiredKeys: ['name'] },
);

const failure = fc.constantFrom(
  { kind: 'network' as const, afterDeltas: 0 },
  { kind: 'network' as const, afterDeltas: Infinity },
  { kind: 'context_overflow' as const, afterDeltas: 0 },
);

const turn: fc.Arbitrary<Turn> = fc
  .record({
    thinking: fc.constantFrom('', 'Hm.', `${'Let me think about it. '.repeat(20)}Yes.`),
    text: fc.constantFrom('', 'Hello.', `${'A long answer, with half a \ud83d. '.repeat(30)}End.`),
    toolCalls: fc.array(call, { minLength: 1, maxLength: 3 }),
    stopReason: fc.constantFrom('tool_use', 'tool_use', 'length', 'pause'),
    usage: fc.constantFrom(null, null, { input: 900, cacheRead: 300 }),
    error: fc.oneof({ weight: 14, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: failure }),
  })
  // Most turns go well: a conversation must become long before it can become too long.
  .map(({ error, ...rest }): Turn => (error === null ? rest : { ...rest, error }));

const asksForSummary = ({ messages }: ModelRequest): boolean => {
  const last = messages.at(-1);
  return last?.role === 'user' && last.origin === 'compaction' && last.removed === undefined;
};

/** A model that hands each request to the wire's encoder and judge, and says what the script says. */
function judged(wire: Wire, turns: readonly Turn[], seen: { problems: string[]; bodies: string[] }): Model {
  const encode = wire.protocol().createEncoder({ provider: wire.provider, modelId: 'model-1' });
  let at = 0;
  const inner = scriptedModel(
    (request) => {
      if (asksForSummary(request)) return { text: 'A summary.', usage: null };
      return turns[at++] ?? { text: 'Done.', usage: null };
    },
    { provider: wire.provider },
  );
  return {
    provider: wire.provider,
    id: 'model-1',
    stream(request, signal) {
      const body = bodyText(encode(request).body);
      seen.bodies.push(body);
      seen.problems.push(...wire.validate(JSON.parse(body) as JsonObject));
      return inner.stream(request, signal);
    },
  };
}

async function finish(session: Session, run: ReturnType<Session['prompt']>): Promise<string> {
  let result = await run.result;
  while (result.status === 'paused') {
    result = await session.addToolOutputs(result.pending.map(({ callId }) => ({ callId, content: 'picked' }))).result;
  }
  return result.status;
}

const tooLong = (events: readonly DurableEvent[]): number =>
  events.filter((event) => event.type === 'run_ended' && event.status === 'context_limit').length;

describe.each(WIRES)('requests on the wire $name', (wire) => {
  it.each(Object.entries(STRATEGIES))('C1, C8: are valid, and smaller, after %s', async (_, strategy) => {
    let compactions = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 4, maxLength: 10 }), async (turns) => {
        const seen = { problems: [] as string[], bodies: [] as string[] };
        const agent = defineAgent({
          model: judged(wire, turns, seen),
          tools: TOOLS,
          context: { window: 1600, reserve: 100, strategy },
          retry: { maxRetries: 0 },
        });
        const journal = memoryJournal();
        const session = await createSession(agent, { journal, id: 's' });
        await finish(session, session.prompt([{ content: PINNED, pinned: true }, { content: 'Go.' }]));
        await finish(session, session.prompt('And now?'));
        // A person may want it at any time.
        await session.compact().catch(() => {});
        await finish(session, session.prompt('And then?'));
        expect(seen.problems).toEqual([]);
        for (const body of seen.bodies) expect(body).toContain(PINNED);
        const events = await logOf(journal, 's');
        for (const event of events) {
          if (event.type !== 'compacted') continue;
          compactions += 1;
          expect(event.tokensAfter).toBeLessThan(event.tokensBefore);
        }
        // Where it couldn't get smaller, the run stopped.
        const failed = events.filter(
          (event) => event.type === 'compaction_failed' && event.trigger !== 'manual',
        ).length;
        expect(tooLong(events)).toBeGreaterThanOrEqual(failed);
      }),
      { numRuns: 40 },
    );
    // Or all of the above would be about nothing.
    expect(compactions).toBeGreaterThan(20);
  });
});

/** Marks for a provider's cache say where to keep a prefix; they are not part of it. */
const withoutMarks = (body: string): string =>
  body.replaceAll(',"cache_control":{"type":"ephemeral"}', '').replaceAll(',{"cachePoint":{"type":"default"}}', '');

function sharedPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

function sharedSuffix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a[a.length - 1 - length] === b[b.length - 1 - length]) length++;
  return length;
}

describe.each(WIRES)('consecutive requests on the wire $name', (wire) => {
  const turns: Turn[] = Array.from({ length: 30 }, (_, at) => ({
    thinking: at % 3 === 0 ? 'Hm.' : '',
    text: `Step ${at}.`,
    toolCalls: Array.from({ length: 1 + (at % 3) }, () => ({ name: 'reads', arguments: { at } })),
    usage: null,
  }));

  async function bodiesOf(context: { readonly window: number }): Promise<{ bodies: string[]; compactions: number }> {
    const seen = { problems: [] as string[], bodies: [] as string[] };
    const agent = defineAgent({ model: judged(wire, turns, seen), tools: TOOLS, context, instructions: 'Be good.' });
    const journal = memoryJournal();
    const session = await createSession(agent, { journal, id: 's' });
    await session.prompt('Go.').result;
    expect(seen.problems).toEqual([]);
    const compactions = (await logOf(journal, 's')).filter(({ type }) => type === 'compacted').length;
    return { bodies: seen.bodies.map(withoutMarks), compactions };
  }

  it('begin, byte for byte, with the request before them', async () => {
    const { bodies } = await bodiesOf({ window: 1_000_000 });
    expect(bodies).toHaveLength(31);
    bodies.slice(1).forEach((body, index) => {
      const before = bodies[index] ?? '';
      const prefix = sharedPrefix(before, body);
      // What is new was put in at one place, and behind that place there is nothing that was said before.
      expect(prefix + sharedSuffix(before.slice(prefix), body.slice(prefix))).toBe(before.length);
      expect(before.slice(prefix)).not.toMatch(/"role"|Step|line of text/);
    });
  });

  it(
    'break that once per compaction, and declare the same tools even where none may be called',
    { tags: ['share'] },
    async () => {
      const { bodies, compactions } = await bodiesOf({ window: 8000 });
      expect(compactions).toBeGreaterThan(1);
      const breaks = bodies.slice(1).filter((body, index) => {
        const before = bodies[index] ?? '';
        return sharedPrefix(before, body) + sharedSuffix(before, body) < before.length;
      }).length;
      // A summary is asked for on a shorter prefix, and the request after it has the summary in it.
      expect(breaks).toBeLessThanOrEqual(2 * compactions);
      const toolsOf = (body: string): unknown => {
        const { tools, toolConfig } = JSON.parse(body) as JsonObject;
        return tools ?? (toolConfig as JsonObject | undefined)?.['tools'];
      };
      // Ollama has no tool choice: there, tools can be forbidden only by not declaring them.
      if (wire.provider === 'ollama') return;
      for (const body of bodies) expect(toolsOf(body)).toEqual(toolsOf(bodies[0] ?? '{}'));
    },
  );
});
