import type { Client, ElicitResult, InputRequests, InputResponses, RequestOptions } from '@modelcontextprotocol/client';
import { isJsonObject } from '@treadle/core/json';
import type { Clock, JsonValue, ToolResult } from '@treadle/core';

import { MOST_LOGINS } from '../client/connection.ts';
import type { Answering, Connection } from '../client/connection.ts';
import { isForgotten, McpProblem, requestProblem } from '../client/problem.ts';
import { hideInResult } from '../client/secrets.ts';
import { taskIn } from '../client/task-results.ts';
import { askUser, elicitResult, questionKey } from './elicitation.ts';
import type { Elicitation } from './elicitation.ts';
import { OpenCall } from './open-call.ts';
import type { CallContext } from './open-call.ts';
import { failureOf } from './result.ts';
import { followTask } from './task.ts';

/** What a request sends again once its server was given what it asked for. */
export interface MoreParams {
  readonly inputResponses?: InputResponses;
  readonly requestState?: string;
}

/** Sends a request; what comes back may be a wish for input. */
export type Send<Result> = (client: Client, more: MoreParams, options: RequestOptions) => Promise<Result>;

/** A server of the newer protocol asks by ending the request; it is sent again with the answers. */
interface Round {
  readonly number: number;
  readonly inputRequests: InputRequests;
  readonly requestState?: string;
  /** The task that asks. Its answers go to it, and the request isn't sent again. */
  readonly taskId?: string;
  /** True for addresses that have to be opened before the request is sent again as it was. */
  readonly isUrls?: boolean;
}

const MOST_ROUNDS = 10;
const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_STARTUP_MS = 10_000;

/** Problems of a request of which nothing is left at the server. */
const GONE: ReadonlySet<unknown> = new Set(['disconnected', 'unreachable', 'timeout', 'cancelled']);

export interface CallerParts {
  readonly clock: Clock;
  readonly answering: Pick<Answering, 'sample' | 'roots'>;
  /** Milliseconds that a request is kept open while a person is asked. */
  readonly holdMs: number;
}

/** Sends the requests of tool calls to one server, and has people asked what the server wants to know. */
export class Caller {
  readonly #connection: Connection;
  readonly #parts: CallerParts;
  readonly #open = new Set<OpenCall>();
  /** Requests that wait for an answer, by their call. */
  readonly #held = new Map<string, { readonly call: OpenCall; readonly cancel: () => void }>();

  constructor(connection: Connection, parts: CallerParts) {
    this.#connection = connection;
    this.#parts = parts;
  }

  get clock(): Clock {
    return this.#parts.clock;
  }

  /**
   * A server of the older protocol asks within a request, and doesn't say in which: most likely the first that has not asked
   * yet. The answer reaches the right one in any case. Where no call is open nobody is asked.
   */
  elicit(params: Elicitation, signal: AbortSignal): Promise<ElicitResult> {
    const calls = [...this.#open];
    const call =
      calls.find(({ hasAsked }) => !hasAsked) ?? calls.find(({ questions }) => questions.length === 0) ?? calls.at(-1);
    return call ? call.ask(params, signal) : Promise.resolve({ action: 'cancel' });
  }

  /** Makes a request for a tool call. Never rejects: what goes wrong is a result that a model understands. */
  async perform<Result>(
    context: CallContext,
    send: Send<Result>,
    shape: (result: Result) => ToolResult,
  ): Promise<ToolResult> {
    const { name } = this.#connection;
    const id = `${context.sessionId} ${context.callId}`;
    const call = this.#resumed(id, context) ?? this.#begin(context, send, shape);
    const outcome = await call.next();
    if (!('settle' in outcome)) return outcome;
    this.#hold(id, call);
    return askUser(name, outcome.params, outcome.key, { problem: problemOf(context, outcome.key, outcome.params) });
  }

  #resumed(id: string, context: CallContext): OpenCall | null {
    const held = this.#held.get(id);
    if (!held) return null;
    this.#letGo(id);
    held.call.attend(context);
    return held.call;
  }

  #letGo(id: string): void {
    this.#held.get(id)?.cancel();
    this.#held.delete(id);
  }

  #hold(id: string, call: OpenCall): void {
    const { clock, holdMs } = this.#parts;
    const late = (): void => {
      this.#letGo(id);
      call.stop(new McpProblem('timeout', `Nobody answered ${this.#connection.name} in time.`));
    };
    this.#held.set(id, { call, cancel: clock.after(holdMs, late, { background: true }) });
    void call.done.then(({ details }) => {
      // A server that gave up waiting has its result: the call must not be made again. One that died is called again.
      const hasResult = details === undefined || !isJsonObject(details) || !GONE.has(details['problem']);
      if (!hasResult && this.#held.get(id)?.call === call) this.#letGo(id);
    });
  }

  #begin<Result>(context: CallContext, send: Send<Result>, shape: (result: Result) => ToolResult): OpenCall {
    const { name, config } = this.#connection;
    const call = new OpenCall(name, context, config.timeoutMs ?? DEFAULT_TIMEOUT_MS, this.#parts.clock);
    this.#open.add(call);
    call.done = this.#run(call, send, shape)
      .catch((thrown: unknown) => failureOf(name, call.stopped ?? requestProblem(name, thrown)))
      .then((result) => hideInResult(result, this.#connection.secrets))
      .finally(() => this.#open.delete(call));
    return call;
  }

  async #run<Result>(call: OpenCall, send: Send<Result>, shape: (result: Result) => ToolResult): Promise<ToolResult> {
    const { name } = this.#connection;
    let round = roundOf(call.context);
    for (;;) {
      const given = round ? await this.#answers(call, round) : {};
      if ('ask' in given) return given;
      const number = (round?.number ?? 0) + 1;
      const leg = this.#leg(send, round?.taskId ?? null);
      const result = await this.#send(call, leg, given).catch((thrown: unknown) => urlsRequired(thrown, number));
      const next = 'isUrls' in Object(result) ? (result as Round) : inputRequired(result, number);
      if (!next) return shape(result as Result);
      if (next.number > MOST_ROUNDS) {
        throw new McpProblem('bad_answer', `The MCP server ${name} asked ${MOST_ROUNDS} times and did nothing.`);
      }
      round = next;
    }
  }

  /** The request, or the answers to the task that it began; and a task to its end, or its next questions. */
  #leg<Result>(send: Send<Result>, begun: string | null): Send<unknown> {
    const { clock } = this.#parts;
    return async (client, more, options) => {
      const result = begun === null ? await send(client, more, options) : null;
      const taskId = begun ?? taskIn(result);
      if (taskId === null) return result;
      const told = begun === null ? {} : (more.inputResponses ?? {});
      const outcome = await followTask(client, taskId, told, { clock, options });
      return 'result' in outcome ? outcome.result : { resultType: 'input_required', ...outcome };
    };
  }

  async #send<Result>(call: OpenCall, send: Send<Result>, more: MoreParams): Promise<Result> {
    const { config } = this.#connection;
    const wait = config.startupTimeoutMs ?? DEFAULT_STARTUP_MS;
    for (let attempt = 1; ; attempt += 1) {
      const client = await this.#connection.clientWithin(wait, call.context.signal);
      let logins = 0;
      const again = async (thrown: unknown): Promise<Result> => {
        if (++logins > MOST_LOGINS || !(await this.#connection.logIn(client, thrown))) throw thrown;
        return send(client, more, call.options).catch(again);
      };
      try {
        return await send(client, more, call.options).catch(again);
      } catch (thrown) {
        const isSafe = attempt === 1 && !this.#connection.isModern && isForgotten(thrown);
        if (call.stopped === null && requestProblem('', thrown).code === 'disconnected') {
          await this.#connection.drop(client);
        }
        if (!isSafe) throw thrown;
      }
    }
  }

  /** What a round of a server's wishes is answered with, or the question to a person that comes first. */
  async #answers(call: OpenCall, round: Round): Promise<MoreParams | ReturnType<typeof askUser>> {
    const { context } = call;
    const { answering } = this.#parts;
    const responses: Record<string, InputResponses[string]> = {};
    for (const [id, request] of Object.entries(round.inputRequests)) {
      if (request.method === 'roots/list') {
        responses[id] = { roots: answering.roots.map((uri) => ({ uri })) };
      } else if (request.method === 'sampling/createMessage') {
        if (!answering.sample)
          throw new McpProblem('bad_answer', 'The server wants a model, which it was not offered.');
        responses[id] = await answering.sample(request.params, context.signal);
      } else {
        const key = questionKey(`${round.number}.${id}`, request.params);
        const answer = context.answers?.findLast((each) => each.key === key);
        const made = answer && elicitResult(request.params, answer);
        if (made && 'result' in made) responses[id] = made.result;
        else if (context.taskId !== undefined) responses[id] = { action: 'cancel' };
        else {
          const state = { mcpRound: round as unknown as JsonValue };
          return askUser(this.#connection.name, request.params, key, { problem: made?.problem, state });
        }
      }
    }
    const { requestState, isUrls } = round;
    if (isUrls === true) {
      if (Object.values(responses).every((response) => 'action' in response && response.action === 'accept')) return {};
      throw new McpProblem(
        'refused',
        `The MCP server ${this.#connection.name} wants the user to open a page, and the user declined.`,
      );
    }
    return { inputResponses: responses, ...(requestState === undefined ? {} : { requestState }) };
  }
}

/** Why the answer to a question that is open again did not do. */
function problemOf({ answers }: CallContext, key: string, params: Elicitation): string | undefined {
  const answer = answers?.findLast((each) => each.key === key);
  const made = answer && elicitResult(params, answer);
  return made && 'problem' in made ? made.problem : undefined;
}

/** Where an earlier attempt at the call stopped to ask, in whatever process. */
function roundOf({ answers }: CallContext): Round | null {
  const state = answers?.at(-1)?.state;
  const round = state !== undefined && isJsonObject(state) ? state['mcpRound'] : undefined;
  return round === undefined ? null : (round as unknown as Round);
}

/** The code by which a server of the older protocol says that pages have to be opened first. */
const URLS_REQUIRED = -32042;

function urlsRequired(thrown: unknown, number: number): Round {
  const { code, data } = Object(thrown) as { readonly code?: unknown; readonly data?: { elicitations?: unknown } };
  const list = code === URLS_REQUIRED ? data?.elicitations : undefined;
  if (!Array.isArray(list) || list.length === 0) throw thrown;
  const asked = list.map((params: unknown, index) => [`url${index}`, { method: 'elicitation/create', params }]);
  return { number, inputRequests: Object.fromEntries(asked) as InputRequests, isUrls: true };
}

function inputRequired(result: unknown, number: number): Round | null {
  const { resultType, inputRequests, requestState, taskId } = (result ?? {}) as Record<string, unknown>;
  if (resultType !== 'input_required') return null;
  const requests = (inputRequests ?? {}) as InputRequests;
  return {
    number,
    inputRequests: requests,
    ...(typeof requestState === 'string' ? { requestState } : {}),
    ...(typeof taskId === 'string' ? { taskId } : {}),
  };
}
