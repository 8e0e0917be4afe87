import type { CostTable, JsonObject, PendingCall, SessionSummary, UserInput } from '@treadle/core';
import { createHttp, type ClientOptions } from './http.ts';
import { followRun, type Approval, type RunOptions, type RunOutcome } from './run.ts';
import { streamSession, type StreamMessage, type StreamOptions } from './stream.ts';

/** A session, as it is now. */
export interface SessionInfo {
  readonly sessionId: string;
  readonly agentId?: string;
  readonly title?: string;
  readonly seq: number;
  readonly status: 'idle' | 'running' | 'paused';
  readonly runId?: string;
  readonly pending: readonly PendingCall[];
}

export interface CreateOptions {
  readonly id?: string;
  readonly agent?: string;
  readonly metadata?: JsonObject;
}

/** One session of the server. */
export interface ClientSession {
  readonly id: string;
  read(): Promise<SessionInfo>;
  /** Starts a run, follows it, runs the tools that are here and asks about the others, and resolves at its end. */
  run(input: UserInput, options?: RunOptions): Promise<RunOutcome>;
  /** What happens in the session, from its beginning or after an id, through every break of the connection. */
  stream(options?: StreamOptions): AsyncGenerator<StreamMessage>;
  steer(input: UserInput): Promise<void>;
  followUp(input: UserInput): Promise<void>;
  cancel(reason?: string): Promise<void>;
  /** Answers a question of a run that nobody here follows. @throws ClientError `not_awaiting` */
  answerApproval(approvalId: string, approval: Approval): Promise<void>;
  cost(): Promise<CostTable>;
  /** A new session with the events of this one, up to `seq`. */
  fork(options?: { readonly seq?: number }): Promise<ClientSession>;
  delete(): Promise<void>;
}

/** A server, as its client sees it. */
export interface Client {
  createSession(options?: CreateOptions): Promise<ClientSession>;
  /** A session that exists. Nothing is asked of the server yet. */
  session(id: string): ClientSession;
  listSessions(options?: {
    readonly limit?: number;
    readonly cursor?: string;
  }): Promise<{ readonly sessions: readonly SessionSummary[]; readonly cursor?: string }>;
}

/**
 * A client of a Treadle server. Requests that start something have a key of their own, so that one whose answer was lost is
 * made again and counts once.
 *
 * @example
 * ```ts
 * import { createClient } from '@treadle/client';
 * import { defineAgent, memoryJournal } from '@treadle/core';
 * import { serve } from '@treadle/server';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const agent = defineAgent({ model: scriptedModel(['Hello, you.']) });
 * const serving = await serve({ agents: [agent], journal: memoryJournal() });
 *
 * const client = createClient({ url: serving.url, token: serving.token ?? '' });
 * const session = await client.createSession();
 * const { text } = await session.run('Hi');
 * console.log(text); // Hello, you.
 * await serving.close();
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const http = createHttp(options);
  const newKey = (): string => crypto.randomUUID();

  function session(id: string): ClientSession {
    const at = `/v1/sessions/${encodeURIComponent(id)}`;
    const post = async (path: string, body: unknown): Promise<void> => {
      await http.json('POST', `${at}${path}`, { body, key: newKey() });
    };
    return {
      id,
      read: () => http.json('GET', at),
      async run(input, run = {}) {
        const { metadata, key = newKey(), signal } = run;
        const body = { input, ...(metadata === undefined ? {} : { metadata }) };
        const { inputSeq } = await http.json<{ inputSeq: number }>('POST', `${at}/runs`, { body, key, signal });
        return followRun(http, id, inputSeq, run);
      },
      stream: (stream) => streamSession(http, id, stream),
      steer: (input) => post('/steering', { input }),
      followUp: (input) => post('/follow-ups', { input }),
      cancel: (reason) => post('/cancel', reason === undefined ? {} : { reason }),
      answerApproval: (approvalId, approval) => post(`/approvals/${encodeURIComponent(approvalId)}`, approval),
      cost: () => http.json('GET', `${at}/cost`),
      async fork(fork = {}) {
        const made = await http.json<{ sessionId: string }>('POST', `${at}/fork`, { body: fork, key: newKey() });
        return session(made.sessionId);
      },
      async delete() {
        await http.json('DELETE', at);
      },
    };
  }

  return {
    session,
    async createSession(create = {}) {
      const made = await http.json<{ sessionId: string }>('POST', '/v1/sessions', { body: create, key: newKey() });
      return session(made.sessionId);
    },
    listSessions({ limit, cursor } = {}) {
      const query = new URLSearchParams({
        ...(limit === undefined ? {} : { limit: String(limit) }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      return http.json('GET', `/v1/sessions?${query.toString()}`);
    },
  };
}
