import fc from 'fast-check';
import {
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  type Agent,
  type AgentDefinition,
  type Memory,
  type ToolContext,
} from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { playChecked } from './checked-run.ts';
import { fuzzed } from './fuzzed.ts';
import { anyResult, build, type Recipe } from './values.ts';

// Values that code in this process brings: tools, clients, hooks and callers.

const CALLS = [{ name: 'act' }, { name: 'act' }, { name: 'other' }];
const TURNS = [{ toolCalls: CALLS }, 'Done.', { toolCalls: CALLS }, 'Done.', 'Done.', 'Done.'];

const other = defineTool({ name: 'other', description: 'Works.', readOnly: true, execute: () => 'fine' });

/** How a tool brings its values. */
type Manner = 'returns' | 'promises' | 'throws' | 'rejects' | 'streams' | 'updates';

interface ToolCase {
  readonly manner: Manner;
  readonly values: readonly Recipe[];
  readonly window: number | undefined;
  readonly length: number;
  readonly background: boolean;
}

const toolCase: fc.Arbitrary<ToolCase> = fc.record({
  manner: fc.constantFrom('returns', 'promises', 'throws', 'rejects', 'streams', 'updates'),
  values: fc.array(anyResult, { minLength: 1, maxLength: 3 }),
  window: fc.constantFrom(undefined, 1000, 200_000),
  length: fc.constantFrom(100, 2_000_000),
  background: fc.boolean(),
});

function perform({ manner, values }: ToolCase, context: ToolContext): unknown {
  const [first = { make: 'json', value: null } as const] = values;
  switch (manner) {
    case 'returns':
      return build(first);
    case 'promises':
      return Promise.resolve().then(() => build(first));
    case 'throws':
      throw build(first);
    case 'rejects':
      return Promise.resolve().then(() => {
        throw build(first);
      });
    case 'streams':
      return (async function* () {
        for (const value of values) yield build(value);
      })();
    case 'updates':
      for (const value of values) {
        context.update(build(value) as never);
        context.progress(build(value) as never);
      }
      return 'done';
  }
}

async function playTool(given: ToolCase): Promise<void> {
  const act = defineTool({
    name: 'act',
    description: 'Acts.',
    background: given.background,
    execute: (_, context) => perform(given, context) as string,
  });
  const call = { name: 'act', ...(given.background ? { arguments: { run_in_background: true } } : {}) };
  const model = scriptedModel(
    [{ toolCalls: [call, { name: 'act' }, { name: 'other' }] }, ...Array.from({ length: 12 }, () => 'Done.')],
    given.window === undefined ? {} : { contextWindow: given.window },
  );
  const agent = defineAgent({
    model,
    tools: [act, other],
    maxToolResultLength: given.length,
    ...(given.background ? { background: true } : {}),
  });
  await playChecked({ agent, requests: () => model.requests });
}

/** What a tool returns, throws, streams and shows. */
export const results = fuzzed(toolCase, playTool);

/** What a program in this process gives as the result of a client's tool. */
export const clientResults = fuzzed(fc.tuple(anyResult, fc.boolean()), async ([recipe, whole]) => {
  const act = defineTool({ name: 'act', description: 'Acts.', runs: 'client' });
  const model = scriptedModel([...TURNS]);
  await playChecked({
    agent: defineAgent({ model, tools: [act, other] }),
    requests: () => model.requests,
    answer: (session, { pending }) =>
      session.addToolOutputs(
        pending.map(({ callId }) => ({ callId, content: (whole ? build(recipe) : [build(recipe)]) as string })),
      ),
  });
});

/** Who is asked by the loop, with the value as the answer. */
const ASKED: Readonly<Record<string, (answer: () => unknown) => Partial<AgentDefinition>>> = {
  'a hook before a tool': (answer) => ({ hooks: [defineHook('before_tool', () => answer() as undefined)] }),
  'a hook after a tool': (answer) => ({ hooks: [defineHook('after_tool', () => answer() as undefined)] }),
  'a hook of the prompt': (answer) => ({ hooks: [defineHook('user_prompt_submit', () => answer() as undefined)] }),
  'a hook at the end': (answer) => ({ hooks: [defineHook('stop', () => answer() as undefined)] }),
  'the permission callback': (answer) => ({
    permissions: { ask: ['act'], canUseTool: () => answer() as never },
  }),
  'an output guardrail': (answer) => ({ outputGuardrails: [() => answer() as never] }),
  'a memory': (answer) => ({ memory: { retrieve: () => answer(), update: () => answer() } as unknown as Memory }),
  'an input guardrail': (answer) => ({ inputGuardrails: [() => answer() as never] }),
};

/** What hooks, callbacks, memories and checks answer. */
export const answers = fuzzed(
  fc.tuple(fc.constantFrom(...Object.keys(ASKED)), anyResult, fc.boolean()),
  async ([who, recipe, throws]) => {
    const act = defineTool({ name: 'act', description: 'Acts.', execute: () => 'done' });
    const model = scriptedModel([...TURNS]);
    const answer = (): unknown => {
      if (throws) throw build(recipe);
      return build(recipe);
    };
    const agent = defineAgent({ model, tools: [act, other], maxContinuations: 0, ...ASKED[who]?.(answer) });
    await playChecked({ agent, requests: () => model.requests });
  },
);

const quiet = (): Agent => defineAgent({ model: scriptedModel(Array.from({ length: 9 }, () => 'Done.')) });

/** What a caller gives as a prompt, as metadata, as steering and as an import. */
export const inputs = fuzzed(anyResult, async (recipe) => {
  const agent = quiet();
  await playChecked({ agent });
  const session = await createSession(agent);
  const given: (() => unknown)[] = [
    () => session.prompt(build(recipe) as string).result,
    () => session.prompt('Go.', { metadata: build(recipe) as never }).result,
    () =>
      session.prompt('Go.', { clientTools: [{ name: 'a', description: 'b', inputSchema: build(recipe) as never }] })
        .result,
    () => session.importMessages([{ role: 'user', content: build(recipe) }]),
    () => createSession(agent, { metadata: build(recipe) as never }),
  ];
  for (const give of given) await refusedOrTaken(give);
});

/** An error of any kind is the caller's to see: the process goes on, and so does the session. */
async function refusedOrTaken(give: () => unknown): Promise<void> {
  try {
    await give();
  } catch {
    // It was said to whoever gave it.
  }
}
