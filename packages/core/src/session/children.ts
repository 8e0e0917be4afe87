import { errorText, TreadleError } from '../errors.ts';
import type { PendingCall, SessionInput, TreadleEvent } from '../events/events.ts';
import { EVENT_VERSION } from '../events/version.ts';
import { limitChanges } from '../features/limits/options.ts';
import type { Watcher } from '../kernel/watching/hub.ts';
import { policyOf } from '../features/permissions/policy.ts';
import type { Rights } from '../features/permissions/permissions.ts';
import type { RunResult } from '../projections/run-result.ts';
import { sessionMoney, type SessionMoney } from './money.ts';
import { hasWork, refresh, resume, type SessionParts } from './runs.ts';
import { childAgent, type ParentAgent } from '../agent/child-agent.ts';
import { readChildRun, spawnKey, spawnOf, type ChildRun } from '../features/subagents/child-log.ts';
import { childOutput, type ChildCall, type ChildOutcome, type ChildRunner } from '../features/subagents/child.ts';
import { SUB_AGENT_LIMITS } from '../features/subagents/limits.ts';
import type { Delegation } from '../features/subagents/delegation.ts';

/** Opens a session as the sub-agent of another: its events go to whoever watches that one. */
export type OpenChild = (agent: SessionParts['agent'], sessionId: string, watcher: Watcher) => Promise<SessionParts>;

/** Milliseconds between looks at a sub-agent that another process drives, and how long one is waited for. */
const BUSY_POLL_MS = 500;
const BUSY_PATIENCE_MS = 60_000;

const NOTHING: ChildOutcome = { type: 'paused', childRunId: null, pending: [] };

/** Runs the sub-agents of a session, each in a session of its own in the same journal. */
export const childRunner = (parts: SessionParts, open: OpenChild): ChildRunner => new Children(parts, open);

class Children implements ChildRunner {
  readonly #parts: SessionParts;
  readonly #open: OpenChild;

  constructor(parts: SessionParts, open: OpenChild) {
    this.#parts = parts;
    this.#open = open;
  }

  // Made for a run that has sub-agents, or whose money is limited.
  #money(): SessionMoney {
    return (this.#parts.money ??= sessionMoney(this.#parts));
  }

  async #parentOf(call: ChildCall): Promise<ParentAgent> {
    const parts = this.#parts;
    const { agent, state, hub, clock } = parts;
    return {
      agent,
      sessionId: state.sessionId,
      runId: call.runId,
      rights: () => rightsOf(parts),
      purse: await this.#money().purseOf(call),
      clock,
      warn: (code, message) => hub.emit({ type: 'warning', afterSeq: state.seq, runId: call.runId, code, message }),
    };
  }

  /** The sub-agent's session in this process. */
  async #opened(call: ChildCall, delegation: Delegation): Promise<SessionParts> {
    const parts = this.#parts;
    const known = parts.children?.get(call.childSessionId);
    if (known) return known;
    const agent = childAgent(await this.#parentOf(call), delegation);
    const child = await this.#open(agent, call.childSessionId, watcherOf(parts, call));
    parts.children ??= new Map();
    parts.children.set(call.childSessionId, child);
    return child;
  }

  async run(call: ChildCall, delegation: Delegation, signal: AbortSignal): Promise<ChildOutcome> {
    const parts = this.#parts;
    const { journal, clock } = parts;
    const problem = await startSession(parts, call, delegation);
    if (problem !== null) return refused(delegation, call, problem);
    const found = await readChildRun(journal, call.childSessionId, spawnKey(call.callId));
    if (found.state === 'unasked') {
      const input = promptOf(call, delegation);
      await journal.post(call.childSessionId, input, spawnKey(call.callId), clock.now());
    } else if (found.state !== 'open') return settled(call, delegation, found);
    const child = await this.#opened(call, delegation);
    return this.#driven(child, call, delegation, signal);
  }

  /** Drives the sub-agent until the run that was asked for has ended, or waits for somebody. */
  async #driven(
    child: SessionParts,
    call: ChildCall,
    delegation: Delegation,
    signal: AbortSignal,
  ): Promise<ChildOutcome> {
    const parts = this.#parts;
    const { journal, clock } = parts;
    const until = clock.now() + BUSY_PATIENCE_MS;
    const { yielding } = parts.hold;
    for (;;) {
      if (!child.active) await refresh(child);
      if (yielding.aborted && !call.background) return { type: 'yielded' };
      const stop = call.background ? null : child.hold.yield;
      if (stop) yielding.addEventListener('abort', stop);
      const result = child.active || hasWork(child) ? await stretch(child, signal) : null;
      if (stop) yielding.removeEventListener('abort', stop);
      const now = await readChildRun(journal, call.childSessionId, spawnKey(call.callId));
      if (now.state === 'ended' || now.state === 'refused') {
        parts.children?.delete(call.childSessionId);
        return settled(call, delegation, now);
      }
      const childRunId = now.state === 'open' ? now.runId : null;
      if (result === 'yielded') return { type: 'yielded' };
      if (signal.aborted) return { type: 'paused', childRunId, pending: [] };
      if (result === 'busy') {
        if (clock.now() >= until) return { type: 'paused', childRunId, pending: [] };
        await pass(parts, BUSY_POLL_MS, signal);
      } else if (result?.status === 'paused' && !child.active) {
        const { sessionId } = child.state;
        const pending = result.pending.map((each) => ({ sessionId, ...each }));
        if (!call.background || parts.agent.background?.whenAsked !== 'wait')
          return { type: 'paused', childRunId, pending };
        call.background.progress(`Waits for somebody: ${pending.map(({ toolName }) => toolName).join(', ')}.`);
        await answered(parts, call.childSessionId, pending, signal);
        if (signal.aborted) return this.stop(call, 'The task was ended.');
      } else if (result === null) {
        throw new TreadleError('internal', `The sub-agent's session ${call.childSessionId} has nothing to do.`);
      }
    }
  }

  async stop(call: ChildCall, reason: string): Promise<ChildOutcome> {
    const parts = this.#parts;
    const { journal, clock } = parts;
    const agentType = call.toolName;
    const key = spawnKey(call.callId);
    const found = await readChildRun(journal, call.childSessionId, key);
    if (found.state === 'ended' || found.state === 'refused') return settled(call, { agentType }, found);
    if (found.state === 'unasked') return NOTHING;
    const input: SessionInput = { type: 'cancel', reason };
    await journal.post(call.childSessionId, input, `cancel:${call.callId}`, clock.now());
    const tool = parts.agent.tools.get(call.toolName);
    const delegation = tool?.delegates ? (tool.delegates(call.arguments) as Delegation) : null;
    if (delegation) {
      const child = await this.#opened(call, delegation);
      return this.#driven(child, call, delegation, new AbortController().signal);
    }
    return NOTHING;
  }

  held(runId: string): number {
    return this.#parts.state.tasks === null ? 0 : this.#money().held(runId);
  }

  claim(key: string, amount: number): void {
    this.#money().claim(key, amount);
  }
}

/** What the agent of a session, and those above it, may do now. */
function rightsOf({ agent, state }: SessionParts): readonly Rights[] {
  const policy = policyOf(agent.permissions, state.permissions);
  return [policy, ...(policy.above ?? [])];
}

/** Makes the sub-agent's session, or checks that the one to go on with is one of this session's. Null, or why not. */
async function startSession(
  { journal, state, clock }: SessionParts,
  { runId, callId, toolName, childSessionId }: ChildCall,
  { agent, resume: earlier }: Delegation,
): Promise<string | null> {
  const spawnedBy = { sessionId: state.sessionId, runId, callId, toolName };
  if (earlier === null) {
    try {
      await journal.create(childSessionId, {
        type: 'session_created',
        at: clock.now(),
        eventVersion: EVENT_VERSION,
        sessionId: childSessionId,
        agentId: agent.id,
        spawnedBy,
      });
      return null;
    } catch (error) {
      if (!(error instanceof TreadleError) || error.code !== 'session_exists') throw error;
    }
  }
  const known = await spawnOf(journal, childSessionId).catch((error: unknown) => {
    if (error instanceof TreadleError && error.code === 'session_not_found') return null;
    throw error;
  });
  if (known?.spawnedBy?.sessionId !== state.sessionId) {
    return `No agent of this conversation has the session ${childSessionId}.`;
  }
  if (known.agentId === agent.id) return null;
  return `The session ${childSessionId} is one of the agent ${known.agentId}, not of ${agent.id}.`;
}

function promptOf({ runId: parentRunId }: ChildCall, { prompt, agent, limits }: Delegation): SessionInput {
  return {
    type: 'prompt',
    messages: [{ content: [{ type: 'text', text: prompt }] }],
    startedBy: 'subAgent',
    parentRunId,
    limits: limitChanges({ ...SUB_AGENT_LIMITS, ...agent.namedLimits, ...limits }),
  };
}

/** One drive of the sub-agent. A session that another process has is `busy`. */
async function stretch(child: SessionParts, signal: AbortSignal): Promise<RunResult | 'busy' | 'yielded'> {
  const run = child.active?.control.run ?? resume(child);
  const abort = (): void => {
    // When its journal can't take it, the run fails for the same reason.
    run.abort('The agent that started it was stopped.').catch(() => {});
  };
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await run.result;
  } catch (error) {
    if (error instanceof TreadleError && (error.code === 'session_busy' || error.code === 'fenced')) return 'busy';
    if (error instanceof TreadleError && error.code === 'session_yielded') return 'yielded';
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    await child.active?.ended;
  }
}

function settled(
  call: ChildCall,
  { agentType, isPlain = false }: Pick<Delegation, 'agentType' | 'isPlain'>,
  run: Extract<ChildRun, { state: 'ended' | 'refused' }>,
): ChildOutcome {
  const output = childOutput({ agentType, isPlain, toolName: call.toolName }, call.childSessionId, run);
  return { type: 'ended', output, childRunId: run.runId, spent: run.state === 'ended' ? run.spent : 0 };
}

const refused = (delegation: Delegation, call: ChildCall, reason: string): ChildOutcome =>
  settled(call, delegation, { state: 'refused', runId: null, reason });

/** Hands a sub-agent's events on to those who watch its parent. */
function watcherOf({ hub, state }: SessionParts, { runId, turnIndex, callId, childSessionId }: ChildCall): Watcher {
  return {
    isWatching: () => hub.isObserved(),
    take(event: TreadleEvent) {
      const place = { type: 'child_event', afterSeq: state.seq, runId, turnIndex, callId } as const;
      // Of one further below, only the way is longer.
      if (event.type === 'child_event') hub.emit({ ...event, ...place });
      else hub.emit({ ...place, sessionId: childSessionId, event });
    },
  };
}

/** Waits so long, unless the signal ends it. */
function pass({ clock }: SessionParts, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}

/** Shows what a sub-agent in the background waits for at the top, until something is answered there or its time is over. */
function answered(
  parts: SessionParts,
  childSessionId: string,
  pending: readonly PendingCall[],
  signal: AbortSignal,
): Promise<void> {
  const waiting = (parts.waiting ??= new Map());
  return new Promise((resolve) => {
    let cancel = (): void => {};
    const wake = (): void => {
      cancel();
      waiting.delete(childSessionId);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    waiting.set(childSessionId, { pending, wake });
    signal.addEventListener('abort', wake, { once: true });
    const next = Math.min(...pending.map(({ expiresAt = Infinity }) => expiresAt));
    if (signal.aborted) wake();
    else if (next < Infinity) {
      // Where a look comes too early, it waits again for what is left.
      const ms = Math.max(1, next - parts.clock.now());
      cancel = parts.clock.after(ms, wake, { background: true });
    }
  });
}

/** Tells the session that started this one, when it is driven by itself, that it has gone on. Losing it loses nothing. */
export async function tellParent({ journal, state, clock, hub }: SessionParts): Promise<void> {
  const { spawnedBy, sessionId, seq } = state;
  if (!spawnedBy) return;
  try {
    const input: SessionInput = { type: 'child_updated', sessionId };
    await journal.post(spawnedBy.sessionId, input, `child_updated:${sessionId}:${seq}`, clock.now());
  } catch (error) {
    const message = `The session ${spawnedBy.sessionId}, which started this one, was not told of it: ${errorText(error)}`;
    hub.emit({ type: 'warning', afterSeq: seq, code: 'parent_not_told', message });
  }
}
