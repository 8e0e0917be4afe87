import type { ServerContext } from '@modelcontextprotocol/server';
import { createSession, errorText, openSession, TreadleError } from '@treadle/core';
import { hasEnded } from '@treadle/core/tools';
import { runResultFold, type RunResultFold } from '@treadle/core/projections';
import type { Agent, Blobs, JsonObject, Journal, PendingCall, Run, RunResult, Session } from '@treadle/core';

/** What the runs of an agent need. */
export interface RunParts {
  readonly agent: Agent;
  readonly journal: Journal;
  readonly blobs?: Blobs | undefined;
}

/** How a run is, for a client. */
export interface RunState {
  readonly session: string;
  /** `running`, `paused` or how the run ended, such as `completed`. */
  readonly status: string;
  /** What the agent said last. */
  readonly text: string;
  /** What the run waits for. */
  readonly pending: readonly JsonObject[];
}

const stateOf = (session: Session, { status: end, text, pending }: RunResult): RunState => ({
  session: session.id,
  status: end,
  text,
  pending: pending.map(({ toolName, arguments: args }) => ({ toolName, arguments: args })),
});

/** A run as its log has it. */
export interface LoggedRun {
  readonly startedAt: number;
  readonly changedAt: number;
  /** Null while it is open. */
  readonly result: RunResult | null;
}

/** Sessions in memory, unless more of them are at work. */
const MOST_OPEN = 100;

const isBusy = ({ activeRun, agent, tasks }: Session): boolean =>
  activeRun !== null || (agent.background !== null && tasks.list().some(({ status }) => !hasEnded(status)));

/** The runs that clients of one server have asked for. They go on when a client leaves, unless it cancels them. */
export class AgentRuns {
  readonly #parts: RunParts;
  readonly #sessions = new Map<string, Session>();

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  /** A new session, or one of this agent's by its id. @throws TreadleError `session_not_found`. */
  async session(id: string | undefined): Promise<Session> {
    const { agent, journal, blobs } = this.#parts;
    const options = { journal, ...(blobs ? { blobs } : {}), owner: `mcp, process ${process.pid}` };
    const known = id === undefined ? undefined : this.#sessions.get(id);
    if (id !== undefined && known) {
      // The one used last comes last.
      this.#sessions.delete(id);
      this.#sessions.set(id, known);
      if (!known.activeRun) await known.refresh();
      return known;
    }
    if (id !== undefined && !(await this.isOurs(id))) {
      throw new TreadleError('session_not_found', `There is no session ${id}.`);
    }
    const session = id === undefined ? await createSession(agent, options) : await openSession(agent, id, options);
    this.#sessions.set(session.id, session);
    this.#makeRoom(session);
    return session;
  }

  /** Lets go of idle sessions, the longest unused first. Whoever asks for one again gets it from its log. */
  #makeRoom(newest: Session): void {
    for (const session of this.#sessions.values()) {
      if (this.#sessions.size <= MOST_OPEN) break;
      if (session === newest || isBusy(session)) continue;
      this.#sessions.delete(session.id);
      session.close({ reason: 'The MCP server makes room.' }).catch(() => {});
    }
  }

  /** Closes a session, and removes it from the journal. */
  async remove(session: Session): Promise<void> {
    this.#sessions.delete(session.id);
    await session.close({ reason: 'The MCP server has answered its call.' });
    await this.#parts.journal.remove(session.id);
  }

  /** Sessions that are in memory. */
  get open(): number {
    return this.#sessions.size;
  }

  /** Whether a session is one of this agent's: others of the journal are none of a client's business. */
  async isOurs(id: string): Promise<boolean> {
    try {
      for await (const event of this.#parts.journal.read(id, 1)) {
        return event.type === 'session_created' && event.agentId === this.#parts.agent.id;
      }
    } catch (error) {
      if (!(error instanceof TreadleError)) throw error;
    }
    return false;
  }

  /** The run that began with an event of a session; null when this agent has no such run. */
  async logged(sessionId: string, seq: number): Promise<LoggedRun | null> {
    if (!(await this.isOurs(sessionId))) return null;
    let begun: { readonly at: number; readonly fold: RunResultFold } | null = null;
    let changedAt = 0;
    for await (const event of this.#parts.journal.read(sessionId, seq)) {
      if (!begun && (event.seq !== seq || event.type !== 'run_started')) return null;
      if (event.type === 'run_started' && event.seq > seq) break;
      if (event.type === 'run_started') begun = { at: event.at, fold: runResultFold(event.runId) };
      begun?.fold.take(event);
      if ('at' in event) changedAt = event.at;
    }
    if (!begun) return null;
    const { at: startedAt, fold } = begun;
    const result = fold.isSettled() ? fold.result() : null;
    return { startedAt, changedAt, result: result?.status === 'paused' ? null : result };
  }

  /** Follows a run to its end or its pause, and tells the client what it does. The client's cancellation ends it. */
  async follow(session: Session, run: Run, { mcpReq }: ServerContext): Promise<RunResult> {
    const stop = (): void => void session.abort('The MCP client cancelled it.').catch(() => {});
    mcpReq.signal.addEventListener('abort', stop, { once: true });
    const progressToken = mcpReq._meta?.progressToken;
    let progress = 0;
    try {
      for await (const event of run) {
        if (event.type !== 'tool_started' && event.type !== 'tool_progress') continue;
        const message = event.type === 'tool_started' ? event.toolName : event.text;
        if (message === undefined) continue;
        // A client that is gone needs no news.
        // oxlint-disable-next-line typescript/no-deprecated -- clients of the older protocol read it
        if (event.type === 'tool_progress') await mcpReq.log('info', message).catch(() => {});
        if (progressToken === undefined) continue;
        progress += 1;
        const params = { progressToken, progress, message };
        await mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
      }
      return await run.result;
    } finally {
      mcpReq.signal.removeEventListener('abort', stop);
    }
  }

  /** How a session is now. */
  async state(id: string): Promise<RunState> {
    const session = await this.session(id);
    const { activeRun } = session;
    const last = session.messages.findLast(({ role }) => role === 'assistant');
    const text = last?.role === 'assistant' ? textOf(last.content) : '';
    const status = activeRun ? 'running' : session.pending.length > 0 ? 'paused' : 'idle';
    const pending = session.pending.map(({ toolName, arguments: args }) => ({ toolName, arguments: args }));
    return { session: session.id, status, text, pending };
  }

  result(session: Session, result: RunResult): RunState {
    return stateOf(session, result);
  }

  async close(): Promise<void> {
    const open = [...this.#sessions.values()].map((session) => session.close({ reason: 'The MCP server is closed.' }));
    await Promise.allSettled(open);
  }
}

const textOf = (content: readonly { readonly type: string; readonly text?: string }[]): string =>
  content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('');

/** A question of a run as a form for the client's user. What a server behind the agent asks is passed on as it is. */
export function formOf({ type, toolName, arguments: args }: PendingCall): {
  message: string;
  requestedSchema: JsonObject;
} {
  const { requestedSchema, message, server } = args;
  const isForm = type === 'question' && typeof requestedSchema === 'object' && requestedSchema !== null;
  if (isForm && typeof message === 'string') {
    return {
      message: typeof server === 'string' ? `${server} asks: ${message}` : message,
      requestedSchema: requestedSchema as JsonObject,
    };
  }
  return {
    message: `May ${toolName} run? ${JSON.stringify(args, null, 2)}`,
    requestedSchema: {
      type: 'object',
      properties: {
        approve: { type: 'boolean', title: 'Let it run' },
        message: { type: 'string', title: 'What the agent is told with a no' },
      },
      required: ['approve'],
    },
  };
}

/** What a client knows a question by: the `name` that a tool has given it, so that a program can tell questions apart. */
export const keyOf = ({ type, arguments: { name } }: PendingCall): string =>
  type === 'question' && typeof name === 'string' ? name : 'answer';

/** Gives a run the answer of a client's user. @throws TreadleError `conflict` when the question is no longer open. */
export function answered(session: Session, question: PendingCall, answer: unknown): Run {
  const { action, content } = Object(answer) as { readonly action?: unknown; readonly content?: JsonObject };
  const id = question.approvalId ?? '';
  // The model writes the arguments: they can't turn a permission into a form.
  const isForm = question.type === 'question' && question.arguments['requestedSchema'] !== undefined;
  if (action !== 'accept') return session.reject(id, 'The user declined.');
  if (isForm) return session.approve(id, { updatedInput: content ?? {} });
  const { approve, message } = content ?? {};
  if (approve === true) return session.approve(id);
  return session.reject(id, typeof message === 'string' ? message : 'The user said no.');
}

/** What a client is told of a call that went wrong here. */
export const problemText = (thrown: unknown): string => errorText(thrown);
