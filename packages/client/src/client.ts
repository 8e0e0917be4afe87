import type { DurableEvent, JsonObject, Limits, Message, PermissionUpdate, UserInput } from '@treadle/core';
import type { ReplayOptions as CoreReplayOptions, ReplayReport, SessionHit } from '@treadle/core/history';
import type { SessionSummary } from '@treadle/core/journal';
import type { ConversationPage, CostTable } from '@treadle/core/projections';
import { createHttp, type ClientOptions } from './http.ts';
import {
  followRun,
  type Approval,
  type FollowOptions,
  type RunOptions,
  type RunOutcome,
  type ToolResult,
} from './run.ts';
import { clientTasks, type ClientTasks } from './tasks.ts';
import { streamSession, type Snapshot, type StreamMessage, type StreamOptions } from './stream.ts';

/** A session, as it is now. */
export interface SessionInfo extends Omit<Snapshot, 'type' | 'messages'> {
  readonly agentId?: string;
  readonly title?: string;
}

/** What a new session is called, and what is kept of it. */
export interface SessionFacts {
  readonly id?: string;
  /** One line of at most 200 characters. */
  readonly title?: string;
  readonly tags?: readonly string[];
  readonly metadata?: JsonObject;
}

/** Options of `createSession`. */
export interface CreateOptions extends SessionFacts {
  /** Which of the server's agents. Default: its first. */
  readonly agent?: string;
}

/** Options of a fork. */
export interface ForkOptions extends SessionFacts {
  /** The last event that both share. Default: the last one there is. */
  readonly seq?: number;
}

/** A run that begins in a fork. `metadata` and `limits` are the run's. */
export interface AgainOptions extends SessionFacts {
  /** Names the attempt. Default: the time. */
  readonly tag?: string;
  readonly limits?: Partial<Limits>;
}

/** Options of a branch of a run in a fork. */
export interface BranchOptions extends AgainOptions {
  /** What the branch is told. Without it, it goes on with the history as it is. */
  readonly input?: UserInput;
  /** From where this run, or with true the latest, began. */
  readonly instead?: string | true;
  /** From this event. Without either: from the end. */
  readonly seq?: number;
}

/** Ways to try side by side: of them, one is adopted. */
export interface BranchesOptions {
  /** What each branch is told. Without it, they go on with the history as it is. */
  readonly input?: UserInput;
  /** In order: agents of the server, and models of their `routing`. Default of both: the session's own. */
  readonly branches: readonly { readonly agent?: string; readonly model?: string }[];
  /**
   * `first`, `fewest_tokens`, `most_tokens`, `vote`, `llm_judge`, `pairwise_judge`, or one of the server's own. Default:
   * `only`, for one branch.
   */
  readonly strategy?: string;
  /** Whose model judges, for the two judges, and what makes one answer better. Default: the session's agent. */
  readonly judge?: { readonly agent?: string; readonly model?: string; readonly instructions?: string };
  readonly metadata?: JsonObject;
}

/** Which runs are replayed, and how. */
export type ReplayOptions = Pick<CoreReplayOptions, 'runId' | 'turn' | 'model' | 'onMiss' | 'keep'>;

/** A token by which whoever has it may answer one call, and do nothing else: see `answerWithToken`. */
export interface AnswerToken {
  readonly token: string;
  readonly callId: string;
  readonly approvalId?: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Which page of a long list a request returns. */
export interface PageOptions {
  readonly limit?: number;
  /** Only what comes after this event; the `cursor` of the page before. */
  readonly after?: number;
}

/** A message as it happened. */
export interface HistoryItem {
  readonly seq: number;
  readonly runId: string;
  /** False for what happened and is not sent to models. */
  readonly inView: boolean;
  readonly message: Message;
}

/** An image or a file that a log speaks of. */
export interface FileItem {
  readonly seq: number;
  readonly type: 'image' | 'file';
  readonly mediaType: string;
  readonly [field: string]: unknown;
}

/** One session of the server. */
export interface ClientSession {
  readonly id: string;
  read(): Promise<SessionInfo>;
  /** Starts a run, follows it, runs the tools that are here and asks about the others, and resolves at its end. */
  run(input: UserInput, options?: RunOptions): Promise<RunOutcome>;
  /** Goes on with the conversation as it is, as `run` does with a prompt. @throws ClientError `nothing_to_continue`, `ends_with_assistant` */
  continue(options?: RunOptions): Promise<RunOutcome>;
  /** What happens in the session, from its beginning or after an id, through every break of the connection. */
  stream(options?: StreamOptions): AsyncGenerator<StreamMessage>;
  steer(input: UserInput): Promise<void>;
  followUp(input: UserInput): Promise<void>;
  /** Ends the open run, prompts that wait, and what runs in the background. */
  cancel(reason?: string): Promise<void>;
  /** Answers a question of a run that nobody here follows. @throws ClientError `not_awaiting`, `conflict` */
  approve(approvalId: string, answer?: Omit<Approval, 'decision'>): Promise<void>;
  reject(approvalId: string, answer?: Omit<Approval, 'decision'>): Promise<void>;
  /** Gives results of client tools of a run that nobody here follows. @throws ClientError `not_awaiting`, `results_missing`, `conflict` */
  addToolOutputs(results: readonly ToolResult[]): Promise<void>;
  /** Tokens for all calls that wait, or for one of them. */
  answerTokens(callId?: string): Promise<readonly AnswerToken[]>;
  readonly tasks: ClientTasks;
  rename(title: string): Promise<void>;
  /** Adds tags; those of `remove` are taken away first. */
  tag(add: readonly string[], remove?: readonly string[]): Promise<void>;
  events(options?: PageOptions): Promise<{ readonly events: readonly DurableEvent[]; readonly cursor?: number }>;
  /** All messages as they happened. */
  history(options?: PageOptions): Promise<{ readonly messages: readonly HistoryItem[]; readonly cursor?: number }>;
  /** The runs that have ended, the newest page first. */
  conversations(options?: { readonly limit?: number; readonly before?: number }): Promise<ConversationPage>;
  files(options?: PageOptions): Promise<{ readonly files: readonly FileItem[]; readonly cursor?: number }>;
  cost(): Promise<CostTable>;
  /** Makes the view smaller: at once, or before the open run's next model call. The log keeps what happened. */
  compact(instructions?: string): Promise<void>;
  /** Replaces the conversation. @throws ClientError `run_active`, `invalid_messages` */
  importMessages(messages: readonly object[]): Promise<void>;
  /** Forgets the conversation. The log keeps what happened. @throws ClientError `run_active` */
  reset(): Promise<void>;
  /** Changes what the session may do. @throws ClientError `forbidden` unless the token may grant rights. */
  updatePermissions(updates: readonly PermissionUpdate[]): Promise<void>;
  /** A ticket that opens the session's stream once, for a browser's EventSource: `…/stream?ticket=…`. */
  ticket(): Promise<{ readonly ticket: string; readonly expiresAt: number }>;
  /** A new session with the events of this one, up to `seq`. */
  fork(options?: ForkOptions): Promise<ClientSession>;
  /**
   * A new session with the conversation before a message of the user's, which `to` names by its number or id. Default: the
   * last. Files stay as they are. @throws ClientError `nothing_to_continue`
   */
  rewind(options?: SessionFacts & { readonly to?: number | string }): Promise<ClientSession>;
  /** Does a run again in a fork, and follows it there. Default: the latest. */
  rerun(options?: AgainOptions & { readonly runId?: string }, run?: FollowOptions): Promise<AgainOutcome>;
  /** Takes another path in a fork, and follows it there. */
  branch(options: BranchOptions, run?: FollowOptions): Promise<AgainOutcome>;
  /**
   * Tries several agents or models side by side, adopts the branch that `strategy` chooses, and follows that. While
   * the connection lasts, `onEvent` is told of each event of each branch as a `branch_event`.
   */
  runBranches(options: BranchesOptions, run?: FollowOptions & { readonly key?: string }): Promise<RunOutcome>;
  /** Plays runs again with the recorded results of their tools, and says what came out otherwise. */
  replay(options?: ReplayOptions): Promise<ReplayReport>;
  delete(): Promise<void>;
}

/** A run in a session of its own. */
export interface AgainOutcome extends RunOutcome {
  readonly session: ClientSession;
}

/** Which sessions `listSessions` returns. */
export interface ListOptions {
  readonly limit?: number;
  readonly cursor?: string;
  readonly agent?: string;
  readonly tag?: string;
}

/** A server, as its client sees it. */
export interface Client {
  createSession(options?: CreateOptions): Promise<ClientSession>;
  /** A session that exists. Nothing is asked of the server yet. */
  session(id: string): ClientSession;
  listSessions(
    options?: ListOptions,
  ): Promise<{ readonly sessions: readonly SessionSummary[]; readonly cursor?: string }>;
  /** Sessions in which all words of the query occur. A page may be short while there is a `cursor` to go on with. */
  search(
    query: string,
    options?: ListOptions & { readonly messages?: boolean },
  ): Promise<{ readonly hits: readonly SessionHit[]; readonly cursor?: string }>;
  /** Keeps a file on the server. Its id is the hash of its bytes. */
  uploadFile(bytes: Blob | Uint8Array<ArrayBuffer>): Promise<{ readonly id: string; readonly size: number }>;
  downloadFile(id: string): Promise<Uint8Array<ArrayBuffer>>;
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
  const post = async <Value>(path: string, body: unknown): Promise<Value> =>
    http.json<Value>('POST', path, { body, key: newKey() });

  function session(id: string): ClientSession {
    const at = `/v1/sessions/${encodeURIComponent(id)}`;
    const say = async (path: string, body: unknown): Promise<void> => {
      await post(`${at}${path}`, body);
    };
    const decide = (approvalId: string, approval: Approval): Promise<void> =>
      say(`/approvals/${encodeURIComponent(approvalId)}`, approval);
    const begin = async (path: string, body: object, run: FollowOptions & { readonly key?: string }) => {
      const { key = newKey(), signal } = run;
      const { inputSeq } = await http.json<{ inputSeq: number }>('POST', `${at}${path}`, { body, key, signal });
      return followRun(http, id, inputSeq, run);
    };
    const start = (asked: object, run: RunOptions): Promise<RunOutcome> => {
      const { metadata, model, clientTools } = run;
      return begin('/runs', { ...asked, clientTools, metadata, model }, run);
    };
    const again = async (path: string, body: object, run: FollowOptions): Promise<AgainOutcome> => {
      const made = await post<{ sessionId: string; inputSeq: number }>(`${at}${path}`, body);
      const outcome = await followRun(http, made.sessionId, made.inputSeq, run);
      return { ...outcome, session: session(made.sessionId) };
    };
    return {
      id,
      read: () => http.json('GET', at),
      run: (input, run = {}) => start({ input }, run),
      continue: (run = {}) => start({ continue: true }, run),
      stream: (stream) => streamSession(http, id, stream),
      steer: (input) => say('/steering', { input }),
      followUp: (input) => say('/follow-ups', { input }),
      cancel: (reason) => say('/cancel', reason === undefined ? {} : { reason }),
      approve: (approvalId, answer) => decide(approvalId, { ...answer, decision: 'approve' }),
      reject: (approvalId, answer) => decide(approvalId, { ...answer, decision: 'reject' }),
      addToolOutputs: (results) => say('/tool-results', { results }),
      async answerTokens(callId) {
        const body = callId === undefined ? {} : { callId };
        return (await post<{ tokens: AnswerToken[] }>(`${at}/answer-tokens`, body)).tokens;
      },
      tasks: clientTasks(http, at, newKey),
      rename: (title) => say('/title', { title }),
      tag: (add, remove = []) => say('/tags', { add, remove }),
      events: (page = {}) => http.json('GET', `${at}/events${queryOf({ ...page })}`),
      history: (page = {}) => http.json('GET', `${at}/history${queryOf({ ...page })}`),
      conversations: (page = {}) => http.json('GET', `${at}/conversations${queryOf({ ...page })}`),
      files: (page = {}) => http.json('GET', `${at}/files${queryOf({ ...page })}`),
      cost: () => http.json('GET', `${at}/cost`),
      compact: (instructions) => say('/compact', instructions === undefined ? {} : { instructions }),
      importMessages: (messages) => say('/import', { messages }),
      reset: () => say('/reset', {}),
      updatePermissions: (updates) => say('/permissions', { updates }),
      ticket: () => post(`${at}/tickets`, {}),
      fork: async (fork = {}) => session((await post<{ sessionId: string }>(`${at}/fork`, fork)).sessionId),
      rewind: async (body = {}) => session((await post<{ sessionId: string }>(`${at}/rewind`, body)).sessionId),
      rerun: (body = {}, run = {}) => again('/rerun', body, run),
      branch: (body, run = {}) => again('/branch', body, run),
      runBranches: (body, run = {}) => begin('/branches', body, run),
      replay: (body = {}) => post(`${at}/replay`, body),
      async delete() {
        await http.json('DELETE', at);
      },
    };
  }

  return {
    session,
    async createSession(create = {}) {
      return session((await post<{ sessionId: string }>('/v1/sessions', create)).sessionId);
    },
    listSessions: (page = {}) => http.json('GET', `/v1/sessions${queryOf({ ...page })}`),
    search: (query, page = {}) => http.json('GET', `/v1/search${queryOf({ query, ...page })}`),
    uploadFile: (bytes) => http.upload('/v1/files', bytes),
    downloadFile: (id) => http.bytes(`/v1/files/${encodeURIComponent(id)}`),
  };
}

const newKey = (): string => crypto.randomUUID();

function queryOf(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? '' : `?${query.toString()}`;
}
