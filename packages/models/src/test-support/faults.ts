import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  type AgentDefinition,
  type DurableEvent,
  type Http,
  type Journal,
  type JsonObject,
  type Model,
  type Run,
  type RunResult,
  type Session,
  type Tool,
  type TreadleEvent,
} from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { initialState, reduce } from '@treadle/core/kernel';
import {
  fakeProvider,
  testClock,
  type FakeProvider,
  type ProviderRequest,
  type ProviderTurn,
  type TestClock,
  type Turn,
} from '@treadle/testing';
import { expect } from 'vitest';
import { nodeHttp } from '../http/node-http.ts';
import { TEST_KEY, type TestWire } from './wires.ts';

/** Wires whose streams are server-sent events. */
export const isSse = ({ name }: TestWire): boolean => name !== 'bedrock' && name !== 'ollama';

/** Wires that stream a call's arguments as text, valid JSON or not; the others send them whole, as JSON. */
export const streamsArguments = ({ name }: TestWire): boolean => name !== 'google' && name !== 'ollama';

export interface FaultOptions {
  readonly wire: TestWire;
  /** The provider's replies. The follow-up prompt gets `After all.`; whatever else is asked for gets a 400. */
  readonly turns: readonly (ProviderTurn | string)[];
  readonly agent?: Partial<AgentDefinition>;
  readonly tools?: readonly Tool[];
  /** Runs beside the run: aborts it, moves the clock, lets the provider go on. */
  readonly during?: (scene: Scene) => Promise<void>;
  readonly random?: number;
  /** `held` leaves the clock alone while a run waits to try again. Default: it is moved on. */
  readonly retries?: 'held';
  /** The provider knows kinds of content that its request checks don't. */
  readonly newer?: true;
}

/** What a test may look at and touch while the run lasts. */
export interface Scene {
  readonly provider: FakeProvider;
  readonly clock: TestClock;
  readonly run: Run;
  readonly events: readonly TreadleEvent[];
  /** Resolves when the observers have been told so many deltas of text, thinking and arguments. */
  deltas(count: number): Promise<void>;
  /** Resolves when the headers of so many responses have come. */
  responses(count: number): Promise<void>;
  /** Resolves when a model call has failed. */
  attemptFailed(): Promise<void>;
}

/** What came of it, with the invariants checked. */
export interface Outcome {
  readonly result: RunResult;
  readonly events: readonly TreadleEvent[];
  /** Requests of the run, without the follow-up's. */
  readonly requests: readonly ProviderRequest[];
  /** The request of the follow-up prompt. */
  readonly next: ProviderRequest | undefined;
  /** Arguments of each call of the tool `act` that ran. */
  readonly executed: readonly JsonObject[];
  /** Milliseconds the run waited by the clock. */
  readonly waited: number;
  readonly session: Session;
  readonly journal: Journal;
}

const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Takes turns of the event loop until `done`; a test that waits for what never comes runs into its timeout. */
export async function until(done: () => boolean): Promise<void> {
  while (!done()) await breath();
}

/** Connections that servers of this process hold, by port. */
function countConnections(port: () => number): { open(): number; stop(): void } {
  const sockets = new Set<Socket>();
  const seen = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  };
  subscribe('net.server.socket', seen);
  return {
    open: () => [...sockets].filter(({ localPort }) => localPort === port()).length,
    stop: () => void unsubscribe('net.server.socket', seen),
  };
}

/** Runs sessions against broken providers, checks after each what must always hold, and counts the successes. */
export function faultBench(): {
  play(options: FaultOptions): Promise<Outcome>;
  /** Runs that completed in spite of what happened to them. */
  readonly completed: number;
} {
  let completed = 0;
  return {
    async play(options) {
      const outcome = await play(options);
      if (outcome.result.status === 'completed') completed++;
      return outcome;
    },
    get completed() {
      return completed;
    },
  };
}

async function play(options: FaultOptions): Promise<Outcome> {
  const { wire, turns } = options;
  const clock = testClock(Date.now());
  const begin = clock.now();
  let following = false;
  const last = { status: 400, body: { error: { message: 'The test has no further turn.' } } };
  const connections = countConnections(() => Number(new URL(provider.url).port));
  const provider = await fakeProvider(
    (_request, index) => (following ? 'After all.' : (turns[index] ?? { faults: last })),
    { validate: options.newer !== true },
  );
  try {
    const executed: JsonObject[] = [];
    let headers = 0;
    const real = nodeHttp({ clock, env: {} });
    const http: Http = async (request) => {
      const response = await real(request);
      headers++;
      return response;
    };
    const model = wire.model(provider, http, {
      clock,
    });
    const agent = defineAgent({
      model,
      tools: [actTool(executed), ...(options.tools ?? [])],
      ...options.agent,
    });
    const journal = memoryJournal();
    const session = await createSession(agent, { journal, id: 's1', clock, random: () => options.random ?? 0.5 });
    const events: TreadleEvent[] = [];
    session.subscribe((event) => events.push(event));
    const run = session.prompt('Go.');
    const deltas = (count: number): Promise<void> =>
      until(() => events.filter(({ type }) => type === 'message_delta').length >= count);
    const responses = (count: number): Promise<void> => until(() => headers >= count);
    const attemptFailed = (): Promise<void> => until(() => ofType(events, 'attempt_failed').length > 0);
    const beside =
      options.during?.({ provider, clock, run, events, deltas, responses, attemptFailed }) ?? Promise.resolve();
    const result = await (options.retries === 'held' ? run.result : settled(run, clock, events));
    await beside;
    const waited = clock.now() - begin;
    const requests = provider.requests.slice();
    following = true;
    const after = await settled(session.prompt('And now?'), clock, events);
    expect(after, 'the follow-up').toMatchObject({ status: 'completed', text: 'After all.' });
    const next = provider.requests[requests.length];
    await checkInvariants({ provider, journal, session, events, results: [result, after], open: connections.open });
    return { result, events, requests, next, executed, waited, session, journal };
  } finally {
    connections.stop();
    await provider.close();
  }
}

function actTool(executed: JsonObject[]): Tool {
  return defineTool({
    name: 'act',
    description: 'Acts.',
    inputSchema: { type: 'object' },
    execute: (args) => {
      executed.push(args);
      return `did ${executed.length}`;
    },
  });
}

/** Awaits a run, moving the clock on whenever the run waits to try again. */
async function settled(run: Run, clock: TestClock, events: readonly TreadleEvent[]): Promise<RunResult> {
  let over = false;
  const done = run.result.finally(() => {
    over = true;
  });
  while (!over) {
    await breath();
    const last = events.findLast(({ type }) => type === 'attempt_failed' || type === 'turn_started');
    if (last?.type !== 'attempt_failed' || !last.retry || over) continue;
    const left = last.at + last.retry.delayMs - clock.now();
    if (left >= 0) await clock.advance(left);
  }
  return done;
}

interface Facts {
  readonly provider: FakeProvider;
  readonly journal: Journal;
  readonly session: Session;
  readonly events: readonly TreadleEvent[];
  readonly results: readonly RunResult[];
  readonly open: () => number;
}

async function logOf(journal: Journal): Promise<DurableEvent[]> {
  const log: DurableEvent[] = [];
  for await (const event of journal.read('s1', 1)) log.push(event);
  return log;
}

async function checkInvariants({ provider, journal, session, events, results, open }: Facts): Promise<void> {
  const log = await logOf(journal);
  const runIds = (type: DurableEvent['type']): string[] =>
    log.flatMap((event) => (event.type === type && 'runId' in event && event.runId !== undefined ? [event.runId] : []));
  expect(runIds('run_ended'), 'I1: each run ends once').toEqual(runIds('run_started'));
  for (const { body, problems } of provider.requests) {
    expect(problems, 'I2: a request the provider takes').toEqual([]);
    const { calls, answers } = pairsIn(body);
    expect(answers.toSorted(), 'I2: each call has one result').toEqual(calls.toSorted());
  }
  const replayed = log.reduce(reduce, initialState('s1'));
  expect(replayed.view, 'I3: the log replays to the same view').toEqual(session.messages);
  const told = JSON.stringify([log, events, results, session.messages]);
  expect(told.includes(TEST_KEY), 'I5: the key is nowhere').toBe(false);
  // I4: nothing is being answered, and a connection stays only where an answer came to its end, to be used again.
  await provider.idle();
  const answered = (): number => provider.requests.filter(({ outcome }) => outcome === 'done').length;
  await until(() => provider.requests.every(({ outcome }) => outcome !== 'open') && open() <= answered());
}

/** The ids of a request's tool calls, and those its results are for; names where a wire has no ids. */
function pairsIn(body: unknown): { readonly calls: readonly string[]; readonly answers: readonly string[] } {
  const calls: string[] = [];
  const answers: string[] = [];
  const word = (...values: unknown[]): string => {
    const found = values.find((value) => typeof value === 'string');
    return typeof found === 'string' ? found : '';
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isObject(value)) return;
    const { type, role, toolUse, toolResult, functionCall, functionResponse } = value;
    if (type === 'tool_use') calls.push(word(value['id']));
    else if (type === 'tool_result') answers.push(word(value['tool_use_id']));
    else if (type === 'function_call') calls.push(word(value['call_id']));
    else if (type === 'function_call_output') answers.push(word(value['call_id']));
    else if (isObject(toolUse)) calls.push(word(toolUse['toolUseId']));
    else if (isObject(toolResult)) answers.push(word(toolResult['toolUseId']));
    else if (isObject(functionCall)) calls.push(word(functionCall['name']));
    else if (isObject(functionResponse)) answers.push(word(functionResponse['name']));
    else if (role === 'tool') answers.push(word(value['tool_call_id'], value['tool_name']));
    const { tool_calls: list } = value;
    if (Array.isArray(list)) for (const call of list) calls.push(callName(call));
    const { messages, input, contents, content, parts } = value;
    for (const inner of [messages, input, contents, content, parts]) visit(inner);
  };
  const callName = (call: unknown): string => {
    if (!isObject(call)) return '';
    // Ollama's results say the tool's name, and its calls have no id of their own that is sent back.
    return word(call['id'], isObject(call['function']) ? call['function']['name'] : undefined);
  };
  visit(body);
  return { calls, answers };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isJsonObject(value);
}

/** The bytes of the reply that this wire writes for a turn. */
export async function bytesOf(wire: TestWire, turn: Turn | string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const real = nodeHttp({ env: {} });
  const recording: Http = async (request) => {
    const response = await real(request);
    for await (const part of response.body) parts.push(part);
    return { ...response, body: (async function* () {})() };
  };
  await using provider = await fakeProvider([turn]);
  await runOnce(wire.model(provider, recording));
  return Buffer.concat(parts);
}

async function runOnce(model: Model): Promise<void> {
  const agent = defineAgent({ model, retry: { maxRetries: 0 } });
  await (await createSession(agent)).prompt('Go.').result;
}

/** The durable events of one type. */
export const ofType = <Type extends DurableEvent['type']>(events: readonly TreadleEvent[], type: Type) =>
  events.filter((event): event is Extract<DurableEvent, { type: Type }> => event.type === type);
