import { isDeepStrictEqual } from 'node:util';
import {
  createSession,
  defineAgent,
  defineTool,
  type AgentDefinition,
  type Model,
  type ResponseFormat,
  type RunResult,
} from '@treadle/core';
import { UNKNOWN_USAGE, type ModelEvent, type ModelRequest, type Thinking } from '@treadle/core/model';
import { fakeProvider, type FakeProvider, type ProviderRequest, type ProviderTurn } from '@treadle/testing';
import { resolveModel } from '../../deployments.ts';
import { boundSignature } from './binding.ts';
import type { ServiceModel } from './models.ts';
import { askedBy, refusalOf } from './refuse.ts';

/** What a model was sent. */
export type SentRequest = Pick<ProviderRequest, 'wire' | 'body' | 'rawBody' | 'problems'>;

/** Where a model is played with. */
export interface Stage extends AsyncDisposable {
  readonly model: Model;
  readonly requests: readonly SentRequest[];
}

type Script = (request: ProviderRequest, answered: number) => ProviderTurn | string;

/** A model with its stage, where that isn't a provider on this machine that follows a script. */
export interface StagedModel extends ServiceModel {
  readonly open?: (name: string) => Stage;
}

/** What came of a task: undefined where all went well, else what went wrong. */
type Cell = (model: StagedModel) => Promise<string | undefined>;

async function open(service: StagedModel, script: Script): Promise<Stage> {
  if (service.open !== undefined) return service.open(service.name);
  const provider = await strictProvider(service, script);
  const { requests } = provider;
  return { model: modelAt(service, provider), requests, [Symbol.asyncDispose]: () => provider.close() };
}

const LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A provider that serves one model, refuses what its service refuses, and answers the rest from a script. */
export async function strictProvider(service: ServiceModel, reply: Script): Promise<FakeProvider> {
  let answered = 0;
  // Mistral says in its own words what others call `required`.
  const options = service.name.startsWith('mistral/') ? { validate: false } : {};
  const script = (request: ProviderRequest): ProviderTurn => {
    const message = refusalOf(request, service);
    if (message !== undefined) return { error: { status: 400, message } };
    const turn = reply(request, answered++);
    const { thinking, ...rest } = typeof turn === 'string' ? { text: turn } : turn;
    if (thinking === undefined) return rest;
    const block = {
      type: 'thinking',
      text: service.hides === true && !askedBy(request).summary ? '' : thinking,
      ...(service.bound && { signature: boundSignature(request) }),
    } as const;
    const text = rest.text === undefined ? [] : [{ type: 'text', text: rest.text } as const];
    const calls = (rest.toolCalls ?? []).map((call) => ({ ...call, type: 'tool_call' }) as const);
    return { ...rest, content: [block, ...text, ...calls] };
  };
  return fakeProvider(script, options);
}

export function modelAt(service: ServiceModel, provider: FakeProvider, options: object = {}): Model {
  const [name = ''] = service.name.split('/');
  const bases: Readonly<Record<string, string>> = {
    anthropic: provider.anthropicBaseUrl,
    bedrock: provider.bedrockBaseUrl,
    google: provider.googleBaseUrl,
  };
  return resolveModel(service.name, {
    baseUrl: bases[name] ?? provider.openaiBaseUrl,
    apiKey: 'k',
    env: {},
    ...options,
  });
}

const tool = (name: string, ran: string[]) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
    execute: ({ n }) => {
      ran.push(name);
      return `${name} gave ${n ?? 'nothing'}. ${'It took a while. '.repeat(20)}`;
    },
  });

const called = (...names: readonly string[]): ProviderTurn => ({
  toolCalls: names.map((name, n) => ({ name, arguments: { n } })),
});

interface Played {
  readonly result: RunResult;
  readonly requests: Stage['requests'];
  readonly ran: readonly string[];
  readonly compactions: number;
  /** Calls that the service refused. */
  readonly refusals: number;
}

async function play(
  service: StagedModel,
  prompt: Parameters<Awaited<ReturnType<typeof createSession>>['prompt']>[0],
  reply: Script,
  definition: Partial<AgentDefinition> = {},
): Promise<Played> {
  await using stage = await open(service, reply);
  const { model, requests } = stage;
  const ran: string[] = [];
  const tools = definition.tools === undefined ? [tool('look', ran), tool('count', ran)] : [];
  const retry = { maxRetries: 1, initialDelayMs: 0 };
  const agent = defineAgent({ model, retry, loopDetection: false, limits: { maxTurns: 200 }, ...definition, tools });
  const session = await createSession(agent);
  let compactions = 0;
  let refusals = 0;
  session.subscribe(({ type }) => {
    if (type === 'compacted') compactions++;
    if (type === 'attempt_failed') refusals++;
  });
  const result = await session.prompt(prompt).result;
  return { result, requests, ran, compactions, refusals };
}

const problem = ({ result }: Played): string | undefined =>
  result.status === 'completed' ? undefined : `${result.status}: ${result.message ?? ''}`.slice(0, 160);

const warned = ({ result }: Played): boolean => result.warnings.length > 0;

const ranBoth = (played: Played): string | undefined =>
  problem(played) ?? (played.ran.join() === 'look,count' ? undefined : `ran ${played.ran.join() || 'nothing'}`);

/** The last form that thinking was asked for in, as the request has it. */
const thinkingOf = ({ requests }: Played) => {
  const last = requests.findLast(({ problems }) => problems.length === 0);
  return last === undefined ? {} : askedBy(last).thinking;
};

/** A level that the service has must arrive as it is, and one that it hasn't must not be lost in silence. */
const thinkingCell =
  (thinking: Thinking): Cell =>
  async (service) => {
    const played = await play(service, 'Say hello, and call no tool.', () => 'Hello.', { thinking });
    const { effort, budget, off } = thinkingOf(played);
    const { efforts, thinks } = service;
    const sent = effort ?? budget ?? off;
    if (thinking === 'off') {
      const isOff = off !== undefined || (!thinks && sent === undefined);
      return problem(played) ?? (isOff || warned(played) ? undefined : 'thinks on in silence');
    }
    const isSwitch = service.efforts.length === 0 && service.off === 'disabled';
    if (typeof thinking === 'string' && efforts.includes(thinking) && effort !== thinking) {
      return problem(played) ?? `asked for ${String(sent)}, and the service has ${thinking}`;
    }
    if (typeof thinking === 'object' && service.budget !== undefined && budget !== thinking.budgetTokens)
      return problem(played) ?? `asked for ${String(sent)}, and the service takes ${thinking.budgetTokens} tokens`;
    if (isSwitch) return problem(played) ?? (warned(played) ? 'left out, and the service has a switch' : undefined);
    return problem(played) ?? (sent !== undefined || warned(played) ? undefined : 'left out in silence');
  };

/** Thinking that nobody asked for can be read all the same. */
const shown: Cell = async (service) => {
  if (service.hides === undefined || !service.thinks) return undefined;
  const played = await play(service, 'Say hello, and call no tool.', () => ({ thinking: 'Hm.', text: 'Hello.' }));
  const said = played.result.messages.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  const isShown = said.every((block) => block.type !== 'thinking' || block.text !== '');
  return problem(played) ?? (isShown ? undefined : 'the thinking has no text');
};

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const ANSWER = { city: 'Oslo' };
const BOTH_IN_TURN = 'Call the tool look. When you have its result, call the tool count.';

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const declares = ({ rawBody }: ProviderRequest): boolean => rawBody.includes('"structured_output"');

const structured: Cell = async (service) => {
  const played = await play(
    service,
    `${BOTH_IN_TURN} Then answer with the city ${ANSWER.city}.`,
    (request, answered) => {
      if (answered === 0) return called('look');
      if (answered === 1) return called('count');
      if (declares(request)) return { toolCalls: [{ name: 'structured_output', arguments: ANSWER }] };
      return JSON.stringify(ANSWER);
    },
    { output: { schema: SCHEMA } },
  );
  const right = JSON.stringify(played.result.output) === JSON.stringify(ANSWER);
  return ranBoth(played) ?? (right ? undefined : `the output is ${JSON.stringify(played.result.output)}`);
};

/** A form of the reply beside tools. Claude gives it as the arguments of a tool where the service has no word for it. */
const format =
  (responseFormat: ResponseFormat): Cell =>
  async (service) => {
    const turns = ({ rawBody }: ProviderRequest, answered: number): ProviderTurn | string => {
      if (answered === 0) return called('look');
      return rawBody.includes('Gives the reply.')
        ? { toolCalls: [{ name: 'json', arguments: ANSWER }] }
        : JSON.stringify(ANSWER);
    };
    const prompt = `Call the tool look once. Then reply with ${JSON.stringify(ANSWER)}.`;
    const played = await play(service, prompt, turns, { responseFormat });
    const told = played.requests.every(({ rawBody }) => /city|json/i.test(rawBody));
    const isFormed = isDeepStrictEqual(parsed(played.result.text), ANSWER);
    return problem(played) ?? (isFormed && told ? undefined : 'the form is lost');
  };

/** A conversation that ends with words of the model. */
const prefill: Cell = async (service) => {
  const said = {
    role: 'assistant',
    id: 'm2',
    at: 0,
    provider: 'p',
    model: 'm',
    stopReason: 'stop',
    usage: UNKNOWN_USAGE,
    cost: null,
  };
  const messages = [QUESTION, { ...said, content: [{ type: 'text', text: 'So' }] }] as ModelRequest['messages'];
  return (await ask(service, { messages, tools: [] })).problem;
};

/** Tools by Chat Completions: they are taken, or refused before a request with a word of the other wire. */
const byChat: Cell = async (service) => {
  if (!service.name.startsWith('openai/')) return undefined;
  const chat = { ...service, name: service.name.replace('openai/', 'openai-chat/') };
  for (const fields of [{}, { thinking: 'high' }] as const) {
    const { problem: failed } = await ask(chat, fields);
    if (failed !== undefined && !failed.includes('speaks the Responses API')) return failed;
    const refuses = service.refuses.some((refusal) => refusal.startsWith('chat_tools'));
    if (failed !== undefined && !refuses) return failed;
  }
  return undefined;
};

const QUESTION = {
  role: 'user',
  id: 'm1',
  at: 0,
  origin: 'prompt',
  content: [{ type: 'text', text: 'Call the tool look.' }],
} as const;

/** One call of the model, with what an agent doesn't ask for. */
async function ask(
  service: StagedModel,
  fields: Partial<ModelRequest>,
): Promise<{
  readonly problem: string | undefined;
  readonly warned: boolean;
  readonly asked: ReturnType<typeof askedBy>;
}> {
  await using stage = await open(service, () => called('look'));
  const { model, requests } = stage;
  const { name, description, inputSchema } = tool('look', []);
  const request = { system: '', messages: [QUESTION], tools: [{ name, description, inputSchema }], ...fields };
  let end: ModelEvent | undefined;
  for await (const event of model.stream(request, new AbortController().signal)) end = event;
  const failed = end?.type === 'error' ? end.error.message : undefined;
  const last = requests.at(-1);
  return {
    problem: failed,
    warned: end?.type === 'finish' && (end.warnings ?? []).length > 0,
    asked: askedBy(last ?? { wire: undefined, body: {} }),
  };
}

const temperature: Cell = async (service) => {
  const { problem: failed, warned: told, asked } = await ask(service, { temperature: 0.2 });
  const { refuses, thinks } = service;
  const takes = !refuses.includes('temperature') && !(thinks && refuses.includes('temperature_thinking'));
  if (failed !== undefined) return failed;
  if (takes) return asked.temperature === 0.2 ? undefined : 'left out, and the service takes it';
  return told ? undefined : 'left out in silence';
};

const forced: Cell = async (service) => {
  const { problem: failed, warned: told, asked } = await ask(service, { toolChoice: 'required' });
  const takes = !service.refuses.includes('forced_tool');
  if (failed !== undefined) return failed;
  // Some servers have no such choice at all, whatever the model.
  const knows = !/^(?:moonshot|zai|alibaba)\//.test(service.name);
  if (takes && knows)
    return asked.forced || service.name.includes('fable-5') ? undefined : 'not forced, and the service can';
  return told || !knows ? undefined : 'not forced, in silence';
};

/** What excludes thinking on some models, beside thinking. */
const beside =
  (fields: Partial<ModelRequest>): Cell =>
  async (service) =>
    (await ask(service, { ...fields, thinking: 'high' })).problem;

const image: Cell = async (service) => {
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image', mediaType: 'image/png', data: PIXEL },
  ] as const;
  const played = await play(service, content, () => 'A pixel.');
  const shown = played.requests.at(-1)?.rawBody.includes(PIXEL) === true;
  const noted = played.requests.at(-1)?.rawBody.includes('can not be shown') === true;
  return problem(played) ?? ((service.blind ? noted : shown) ? undefined : 'the image is lost');
};

/** Tools with thinking before them, until the window has been full at least once. */
const long: Cell = async (service) => {
  const canThink = /^(?:anthropic|bedrock)\//.test(service.name) && service.efforts.length > 0;
  const turns = (request: ProviderRequest, answered: number): ProviderTurn => {
    const usage = { input: Math.ceil(request.rawBody.length / 4), output: 20 };
    const thinking = canThink ? { thinking: `Step ${answered}.` } : {};
    if (/"tool_choice":(?:"none"|\{"type":"none"\})|"mode":"NONE"|Answer without calling/.test(request.rawBody)) {
      return { text: 'What was done: some steps.', usage };
    }
    return answered < 50 ? { ...thinking, ...called('look'), usage } : { text: 'Done.', usage };
  };
  const played = await play(service, 'Call the tool look 50 times, one call at a time.', turns, {
    context: { window: 6000, reserve: 500 },
  });
  if (problem(played) !== undefined) return problem(played);
  // Bedrock has no word for it, and is asked twice.
  if (played.refusals > 0 && !service.name.startsWith('bedrock/')) return `refused ${played.refusals} times`;
  if (played.result.turns < 45) return `${played.result.turns} turns`;
  return played.compactions > 0 ? undefined : 'nothing was compacted';
};

/** What a model is asked for, by name. */
export const CELLS: Readonly<Record<string, Cell>> = {
  'two tools': async (service) =>
    ranBoth(
      await play(service, BOTH_IN_TURN, (_, n) => (n === 0 ? called('look') : n === 1 ? called('count') : 'Done.')),
    ),
  parallel: async (service) =>
    ranBoth(
      await play(service, 'Call the tools look and count, in this order and in one reply.', (_, n) =>
        n === 0 ? called('look', 'count') : 'Done.',
      ),
    ),
  structured,
  format: format({ type: 'json_schema', name: 'city', schema: SCHEMA }),
  'any JSON': format({ type: 'json_object' }),
  prefill,
  'by chat': byChat,
  temperature,
  forced,
  'temperature, high': beside({ temperature: 0.2 }),
  'forced, high': beside({ toolChoice: 'required' }),
  image,
  shown,
  ...Object.fromEntries(LEVELS.map((level) => [level, thinkingCell(level)])),
  budget: thinkingCell({ budgetTokens: 4096 }),
  '50 turns': long,
};

/** What went wrong with each of these cells of a model; those that went well are left out. */
export async function failures(
  service: StagedModel,
  names: readonly string[] = Object.keys(CELLS),
): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const wrong = await CELLS[name]?.(service).catch((error: unknown) => String(error));
    if (wrong !== undefined) found[name] = wrong;
  }
  return found;
}
