import { scriptedModel } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RouteCondition, RoutingFacts } from '../../entries/features.ts';
import { defineAgent, defineTool, type RoutingOptions } from '../../index.ts';
import { chosenRoute, nextModel } from './routing.ts';

const model = scriptedModel([]);
const small = scriptedModel([], { id: 'small' });

const facts: RoutingFacts = {
  sessionId: 's',
  runId: 's.a.1',
  agentId: 'agent',
  turnIndex: 2,
  startedBy: 'user',
  metadata: null,
  tags: ['nightly'],
  models: { default: model, small },
  current: 'default',
  lastUsage: null,
  lastStopReason: 'tool_use',
  calledTools: ['search', 'read'],
  usage: { input: 10, output: 10, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  cost: 0.5,
  contextTokens: 1000,
  lastError: { model: 'small', kind: 'rate_limited', turnIndex: 1 },
  messages: [],
  signal: new AbortController().signal,
};

describe('a table', () => {
  it.each<[RouteCondition, boolean]>([
    [{}, true],
    [{ turnIndex: { from: 2, to: 2 } }, true],
    [{ turnIndex: { from: 3 } }, false],
    [{ turnIndex: { to: 1 } }, false],
    [{ contextTokens: { from: 1000 } }, true],
    [{ contextTokens: { to: 999 } }, false],
    [{ cost: { to: 0.5 } }, true],
    [{ cost: { from: 0.6 } }, false],
    [{ startedBy: 'user' }, true],
    [{ startedBy: 'subAgent' }, false],
    [{ tags: ['weekly', 'nightly'] }, true],
    [{ tags: ['weekly'] }, false],
    [{ calledTools: ['read'] }, true],
    [{ calledTools: ['write'] }, false],
    [{ failed: ['rate_limited', 'network'] }, true],
    [{ failed: ['network'] }, false],
    [{ turnIndex: { from: 1 }, tags: ['weekly'] }, false],
  ])('holds %o against what is known: %s', (when, expected) => {
    expect(chosenRoute([{ model: 'small', when }], facts)).toBe(expected ? 'small' : null);
  });

  it('knows no range for a cost that nobody knows, and no failure where none was', () => {
    const unknown = { ...facts, cost: null, lastError: null };
    expect(chosenRoute([{ model: 'small', when: { cost: { from: 0 } } }], unknown)).toBeNull();
    expect(chosenRoute([{ model: 'small', when: { failed: ['network'] } }], unknown)).toBeNull();
  });

  it('is read from the top: the first line that holds is taken', () => {
    const routes = [
      { model: 'default', when: { turnIndex: { from: 9 } } },
      { model: 'small', when: { tags: ['nightly'] } },
      { model: 'default' },
    ];
    expect(chosenRoute(routes, facts)).toBe('small');
    expect(chosenRoute(routes, { ...facts, tags: [] })).toBe('default');
  });
});

describe('the next model after one that failed', () => {
  it("is the agent's own, then its fallbacks in order, and then there is none: no model is asked twice", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 4 }), fc.nat(7), (own, more, first) => {
        const models = Array.from({ length: own + more }, () => model);
        const routing = { indexes: new Map(), models: {}, own, choose: [], timeoutMs: 1 };
        fc.pre(first < models.length);
        const asked = [first];
        for (let at: number | null = first; at !== null;) {
          at = nextModel(models, more === 0 ? null : routing, at);
          if (at !== null) asked.push(at);
          expect(new Set(asked).size).toBe(asked.length);
        }
        expect(asked.at(-1)).toBe(own - 1);
        expect(asked.slice(1).every((at) => at < own)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the definition', () => {
  const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const define = (routing: unknown, tools = [look]) =>
    defineAgent({ model, fallbacks: [scriptedModel([], { id: 'spare' })], tools, routing: routing as RoutingOptions });

  it('puts what can be chosen behind the fallbacks, and what is there already nowhere else', () => {
    const agent = define({ models: { small, same: model }, choose: () => null });
    expect(agent.models.map(({ id }) => id)).toEqual([model.id, 'spare', 'small']);
    expect([...(agent.routing?.indexes ?? [])]).toEqual([
      ['default', 0],
      ['small', 2],
      ['same', 0],
    ]);
    expect(agent.snapshot.models?.map((each) => each.model)).toEqual([model.id, 'spare', 'small']);
    expect(defineAgent({ model }).routing).toBeNull();
  });

  it.each<[unknown, string]>([
    [{ models: {}, choose: [] }, 'has no model'],
    [{ models: { small: {} }, choose: [] }, 'routing.models.small is no model'],
    [{ models: { default: small }, choose: [] }, "the agent's own model"],
    [{ models: { small: scriptedModel([], { toolCalling: false }) }, choose: [] }, 'knows no tool calls'],
    [{ models: { small }, choose: 'small' }, 'must be a function or a list'],
    [{ models: { small }, choose: [{ model: 'large' }] }, 'there is no model "large". There are default, small.'],
    [{ models: { small }, choose: [{ model: 'small', when: { turn: { from: 1 } } }] }, 'no condition "turn"'],
    [{ models: { small }, choose: [{ model: 'small', when: { cost: { from: 'x' } } }] }, 'cost must be { from, to }'],
    [{ models: { small }, choose: [{ model: 'small', when: { tags: 'x' } }] }, 'tags must be a list'],
    [{ models: { small }, choose: [{ model: 'small', when: { startedBy: 'me' } }] }, 'startedBy must be'],
    [{ models: { small }, choose: () => null, timeoutMs: 0 }, 'timeoutMs must be greater than 0'],
  ])('refuses %o', (routing, problem) => {
    expect(() => define(routing)).toThrow(problem);
  });

  it('has a model without tool calls where there are no tools', () => {
    const plain = scriptedModel([], { toolCalling: false });
    expect(define({ models: { plain }, choose: [] }, []).models).toHaveLength(3);
  });
});
