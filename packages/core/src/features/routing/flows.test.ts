import {
  countingIds,
  type CrashCourse,
  crashMatrix,
  golden,
  logOf,
  scriptedModel,
  testClock,
  type Turn,
} from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { ChooseModel, RoutingFacts } from '../../entries/features.ts';
import { replaySession } from '../../entries/history.ts';
import { initialState, plan, reduce } from '../../entries/kernel.ts';
import { costTable } from '../../entries/projections.ts';
import {
  asTool,
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  memoryLedger,
  openSession,
  type AgentDefinition,
  type JsonObject,
  type RoutingOptions,
  type TreadleEvent,
} from '../../index.ts';

type Script = Parameters<typeof scriptedModel>[0];

const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen', replay: 'safe' });
const LOOK: Turn = { toolCalls: [{ name: 'look' }] };

const named = (id: string, script: Script, more: Parameters<typeof scriptedModel>[1] = {}) =>
  scriptedModel(script, { id, ...more });

async function play(
  routing: RoutingOptions,
  large: Script,
  more: Partial<AgentDefinition> = {},
  prompt: JsonObject = {},
) {
  const journal = memoryJournal();
  const model = named('large', large, { cost: ({ output }) => (output ?? 0) * 10 });
  const agent = defineAgent({ id: 'a', configId: 'a', model, tools: [look], routing, ...more });
  const session = await createSession(agent, { id: 's', journal, ids: countingIds(), random: () => 0.5 });
  const events: TreadleEvent[] = [];
  const script = golden();
  session.subscribe((event) => events.push(event));
  session.subscribe(script.observe);
  const result = await session.prompt('Go.', { metadata: prompt }).result;
  const models = events.flatMap((event) =>
    event.type === 'message_added' && event.message.role === 'assistant' ? [event.message.model] : [],
  );
  const warnings = events.flatMap((event) => (event.type === 'warning' ? [`${event.code}: ${event.message}`] : []));
  return { journal, agent, session, result, models, warnings, script, model, events };
}

describe('the model of a turn', () => {
  it('is chosen before the turn begins; the choice is in the log before anything comes of it', async () => {
    const small = named('small', ['It was seen.']);
    const choose: ChooseModel = ({ turnIndex }) =>
      turnIndex === 0 ? null : { model: 'small', reason: 'the rest is easy' };
    const { script, result, models } = await play({ models: { small }, choose }, [LOOK]);
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        decision_made routing routing {"model":null}
        turn_started 0 by user
          message_added user (prompt) "Go."
          message_added assistant (tool_use) calls look
          tool_started look {}
          tool_ended look "seen"
        turn_ended
        decision_made routing routing {"model":"small","provider":"scripted","id":"small","reason":"the rest is easy"}
        turn_started 1 by continuation
          message_added assistant (stop) "It was seen."
        turn_ended
      run_ended completed"
    `);
    expect(models).toEqual(['large', 'small']);
    expect(result).toMatchObject({ status: 'completed', text: 'It was seen.' });
  });

  it('is chosen by a table, from the tags of the run and the tools that were called', async () => {
    const routes = [
      { model: 'default', when: { calledTools: ['look'] } },
      { model: 'small', when: { tags: ['cheap'] } },
    ];
    const routing = (): RoutingOptions => ({ models: { small: named('small', [LOOK]) }, choose: routes });
    expect((await play(routing(), ['Seen.'], {}, { tags: ['cheap'] })).models).toEqual(['small', 'large']);
    expect((await play(routing(), [LOOK, 'Seen.'])).models).toEqual(['large', 'large']);
  });

  it('is the one that the run names, in all of its turns, and nobody is asked', async () => {
    const asked: string[] = [];
    const choose: ChooseModel = ({ current }) => {
      asked.push(current);
      return 'default';
    };
    const small = named('small', [LOOK, 'Seen.']);
    const agent = defineAgent({ model: named('large', []), tools: [look], routing: { models: { small }, choose } });
    const session = await createSession(agent);
    const { messages } = await session.prompt('Go.', { model: 'small', metadata: { from: 'a test' } }).result;
    const models = messages.flatMap((message) => (message.role === 'assistant' ? [message.model] : []));
    expect(models).toEqual(['small', 'small']);
    expect(asked).toEqual([]);
  });

  it('is not begun with where the run names one that the agent does not have', async () => {
    const routing = { models: { small: named('small', []) } };
    const session = await createSession(defineAgent({ model: named('large', []), routing }));
    expect(() => session.prompt('Go.', { model: 'tiny' })).toThrow(
      'The agent has no model "tiny". There are default, small.',
    );
    const plain = await createSession(defineAgent({ model: named('large', []) }));
    expect(() => plain.prompt('Go.', { model: 'tiny' })).toThrow('Give it `routing: { models }`.');
  });

  it('stays what it was where nobody chooses, also over turns', async () => {
    const choose: ChooseModel = ({ turnIndex }) => (turnIndex === 0 ? 'small' : undefined);
    const { models } = await play({ models: { small: named('small', [LOOK, LOOK, 'Seen.']) }, choose }, []);
    expect(models).toEqual(['small', 'small', 'small']);
  });

  it('is chosen by who knows the prompt, the size of the request, what came before, and what it cost', async () => {
    const told: RoutingFacts[] = [];
    const choose: ChooseModel = (facts) => void told.push(facts);
    const small = named('small', []);
    const turn: Turn = { ...LOOK, usage: { input: 500, output: 2 } };
    await play({ models: { small }, choose }, [turn, 'Seen.'], {}, { tags: ['x', 7], team: 'y' });
    expect(
      told.map(({ signal: _, messages, models, ...facts }) => ({
        ...facts,
        roles: messages.map(({ role }) => role),
        names: Object.keys(models),
      })),
    ).toMatchInlineSnapshot(`
      [
        {
          "agentId": "a",
          "calledTools": [],
          "contextTokens": 35,
          "cost": 0,
          "current": "default",
          "lastError": null,
          "lastStopReason": null,
          "lastUsage": null,
          "metadata": {
            "tags": [
              "x",
              7,
            ],
            "team": "y",
          },
          "names": [
            "default",
            "small",
          ],
          "roles": [
            "user",
          ],
          "runId": "s.a.1",
          "sessionId": "s",
          "startedBy": "user",
          "tags": [
            "x",
          ],
          "turnIndex": 0,
          "usage": {
            "cacheRead": null,
            "cacheWrite": null,
            "input": null,
            "output": null,
            "reasoning": null,
          },
        },
        {
          "agentId": "a",
          "calledTools": [
            "look",
          ],
          "contextTokens": 523,
          "cost": 20,
          "current": "default",
          "lastError": null,
          "lastStopReason": "tool_use",
          "lastUsage": {
            "cacheRead": 0,
            "cacheWrite": 0,
            "input": 500,
            "output": 2,
            "reasoning": 0,
          },
          "metadata": {
            "tags": [
              "x",
              7,
            ],
            "team": "y",
          },
          "names": [
            "default",
            "small",
          ],
          "roles": [
            "user",
            "assistant",
            "tool",
          ],
          "runId": "s.a.1",
          "sessionId": "s",
          "startedBy": "user",
          "tags": [
            "x",
          ],
          "turnIndex": 1,
          "usage": {
            "cacheRead": 0,
            "cacheWrite": 0,
            "input": 500,
            "output": 2,
            "reasoning": 0,
          },
        },
      ]
    `);
  });

  it('is chosen for each of a sub-agent too, by its own definition', async () => {
    const cheap = named('cheap', ['It says hello.']);
    const seen: string[] = [];
    const choose: ChooseModel = ({ agentId, startedBy }) => {
      seen.push(`${agentId} by ${startedBy}`);
      return startedBy === 'subAgent' ? 'cheap' : null;
    };
    const routing: RoutingOptions = { models: { cheap }, choose };
    const reader = defineAgent({ id: 'reader', model: named('large', []), routing });
    const tools = [asTool(reader, { description: 'Reads.' })];
    const call: Turn = { toolCalls: [{ name: 'reader', arguments: { prompt: 'Read.' } }] };
    const { models, result } = await play(routing, [call, 'Thanks.'], { tools });
    expect(result.status).toBe('completed');
    expect(models).toEqual(['large', 'large']);
    expect(cheap.requests).toHaveLength(1);
    expect(seen).toEqual(['a by user', 'reader by subAgent', 'a by user']);
  });
});

describe('a choice that can not be used', () => {
  const small = () => named('small', [], { contextWindow: 50 });

  it.each<[string, ChooseModel, RegExp]>([
    ['a name that nothing has', () => 'huge', /there is no model "huge". There are default, small/],
    ['no name', () => ({}) as never, /there is no model without a name/],
    ['an exception', () => Promise.reject(new Error('no idea')), /failed: no idea/],
    ['a window that is too small', () => 'small', /the request has \d+ tokens, and the window of small is 50/],
  ])('leaves the model as it was, and is warned of: %s', async (_, choose, warning) => {
    const instructions = 'Answer. '.repeat(100);
    const { models, warnings, result } = await play({ models: { small: small() }, choose }, ['Done.'], {
      instructions,
    });
    expect(result.status).toBe('completed');
    expect(models).toEqual(['large']);
    expect(warnings).toEqual([expect.stringMatching(/^routing_failed: The model stays default: /)]);
    expect(warnings[0]).toMatch(warning);
  });

  it('comes too late: the run goes on with the model that it had', async () => {
    const clock = testClock();
    const asked = Promise.withResolvers<void>();
    const choose: ChooseModel = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const model = named('large', ['Done.']);
    const agent = defineAgent({ model, routing: { models: { small: small() }, choose, timeoutMs: 500 } });
    const session = await createSession(agent, { clock });
    const warned: string[] = [];
    session.subscribe((event) => event.type === 'warning' && warned.push(event.message));
    const run = session.prompt('Go.');
    await asked.promise;
    await clock.advance(500);
    expect((await run.result).text).toBe('Done.');
    expect(warned).toEqual(['The model stays default: The choice of a model took more than 500 ms.']);
  });
});

describe('a chosen model that fails', () => {
  const broken = (): Turn[] =>
    Array.from({ length: 4 }, () => ({ error: { kind: 'auth', message: 'No key.', retryable: false } }));

  it("falls back on the agent's own, and the next turn's choice knows of it", async () => {
    const told: (RoutingFacts['lastError'] | string)[] = [];
    const choose: ChooseModel = ({ lastError, current }) => {
      told.push(current, lastError);
      return lastError === null ? 'small' : null;
    };
    const { models, events } = await play({ models: { small: named('small', broken()) }, choose }, [LOOK, 'Seen.']);
    expect(models).toEqual(['large', 'large']);
    expect(told).toEqual(['default', null, 'default', { model: 'small', kind: 'auth', turnIndex: 0 }]);
    const started = events.flatMap((event) =>
      event.type === 'turn_started' ? [[event.turnIndex, event.modelIndex ?? 0]] : [],
    );
    expect(started).toEqual([
      [0, 1],
      [0, 0],
      [1, 0],
    ]);
  });

  it('falls back on all of them in order, and then the run ends', async () => {
    const spare = named('spare', broken());
    const { result, events } = await play(
      { models: { small: named('small', broken()) }, choose: [{ model: 'small' }] },
      broken(),
      { fallbacks: [spare] },
    );
    expect(result.status).toBe('model_error');
    const log = events.filter((event) => 'seq' in event);
    expect(costTable(log).models.map(({ model, calls }) => [model, calls])).toEqual([
      ['small', 1],
      ['large', 1],
      ['spare', 1],
    ]);
  });
});

describe('the money of a turn', () => {
  it('is set aside and settled at the price of the model that was chosen', async () => {
    const usage = { input: 0, output: 3 };
    const small = named('small', [{ text: 'Done.', usage }], { cost: ({ output }) => output });
    const ledger = memoryLedger(1000);
    const { result, events } = await play({ models: { small }, choose: [{ model: 'small' }] }, [], {
      maxTokens: 20,
      limits: { maxCost: 50 },
      budget: { ledger },
    });
    expect(result).toMatchObject({ status: 'completed', cost: 3 });
    const settled = events.flatMap((event) => (event.type === 'budget_settled' ? [[event.reserved, event.cost]] : []));
    expect(settled).toEqual([[20, 3]]);
    expect(await ledger.balance()).toMatchObject({ spent: 3, reserved: 0 });
  });

  it('that is too little for the dear model is enough for the cheap one, if that is chosen by the cost so far', async () => {
    const usage = { input: 0, output: 4 };
    const small = named('small', [{ text: 'Done.', usage }], { cost: ({ output }) => output });
    const choose = [{ model: 'small', when: { cost: { from: 30 } } }];
    const { result, models } = await play({ models: { small }, choose }, [{ ...LOOK, usage }], {
      maxTokens: 5,
      limits: { maxCost: 60 },
    });
    expect(result).toMatchObject({ status: 'completed', cost: 44 });
    expect(models).toEqual(['large', 'small']);
  });
});

describe('after the process', () => {
  it('S1, S2: nobody is asked twice about a turn, whenever the process dies', async () => {
    let deaths = 0;
    const asked = new Map<number, number>();
    const course = (): CrashCourse => {
      const journal = memoryJournal();
      asked.clear();
      return {
        sessionId: 's',
        open: () => Promise.resolve(journal),
        async live(life) {
          deaths = life.number - 1;
          const choose: ChooseModel = ({ turnIndex }) =>
            life.effect('the choice', () => {
              asked.set(turnIndex, (asked.get(turnIndex) ?? 0) + 1);
              return turnIndex === 1 ? 'small' : 'default';
            });
          const reply = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
            messages.filter(({ role }) => role === 'tool').length < 2 ? LOOK : 'Seen.';
          const agent = defineAgent({
            configId: 'a',
            model: named('large', reply),
            tools: [look],
            routing: { models: { small: named('small', reply) }, choose },
          });
          const options = { journal: life.journal, clock: life.clock, ids: life.ids, onObserverError: () => {} };
          const { sessions } = await journal.list();
          const exists = sessions.some(({ sessionId }) => sessionId === 's');
          const session = exists
            ? await openSession(agent, 's', options)
            : await createSession(agent, { ...options, id: 's' });
          if (session.status !== 'idle') await session.resume().result;
          else if (session.messages.length === 0) await session.prompt('Go.').result;
        },
        outcome(log) {
          const decided = log.flatMap((event) =>
            event.type === 'decision_made' && event.kind === 'routing' ? [event.key] : [],
          );
          expect(new Set(decided).size).toBe(decided.length);
          // Asked again only where the answer was not in the log when the process died.
          expect([...asked.values()].reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(
            decided.length + deaths,
          );
          const models = log.flatMap((event) =>
            event.type === 'message_added' && event.message.role === 'assistant' ? [event.message.model] : [],
          );
          expect(models).toEqual(['large', 'small', 'large']);
          return { models };
        },
      };
    };
    const { moments } = await crashMatrix(course);
    expect(moments.join('\n')).toContain('after the choice');
  });

  it('a model that this one does not know is not guessed at: the turn asks the one of before', async () => {
    const small = named('small', ['Done.']);
    const { journal, agent } = await play({ models: { small }, choose: () => 'small' }, []);
    const log = await logOf(journal, 's');
    const decided = log.findIndex(({ type }) => type === 'decision_made');
    const state = log.slice(0, decided + 1).reduce(reduce, initialState('s'));
    const other: RoutingOptions = { models: { other: small }, choose: () => expect.unreachable() };
    const begun = (routing: RoutingOptions) => {
      const step = plan(state, defineAgent({ configId: 'a', model: agent.model, routing }), 0);
      return step.type === 'record' ? step.events.filter(({ type }) => type === 'turn_started') : [];
    };
    expect(begun({ ...other, models: { small } })).toMatchObject([{ modelIndex: 1 }]);
    expect(begun(other)).toEqual([expect.not.objectContaining({ modelIndex: 1 })]);
  });

  it('a replay of the recorded replies asks nobody', async () => {
    let asked = 0;
    const small = named('small', ['Seen.']);
    const choose: ChooseModel = ({ turnIndex }) => {
      asked += 1;
      return turnIndex === 1 ? 'small' : null;
    };
    const { journal, agent } = await play({ models: { small }, choose }, [LOOK]);
    expect(asked).toBe(2);
    const report = await replaySession(agent, 's', { journal, model: 'recorded' });
    expect(report.differences).toEqual([]);
    expect(asked).toBe(2);
    expect((await logOf(journal, 's')).some(({ type }) => type === 'decision_made')).toBe(true);
  });
});
