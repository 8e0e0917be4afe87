import type { Agent } from '../../agent/agent.ts';
import type { DurableEvent } from '../../events/events.ts';
import { tellHooks, type HookEnvironment } from './ask.ts';
import type { HookInput } from './hook.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Hub } from '../../kernel/watching/hub.ts';
import type { SessionState } from '../../kernel/state.ts';

/** Tells hooks of what has happened, as it happens. */
export interface HookObservers {
  take(event: DurableEvent): void;
  /** Resolves when the hooks that were told have finished, or their time is up. */
  settled(): Promise<void>;
}

/** What is told and not asked: nothing in the log depends on it. Null when no hook wants to hear of it. */
export function hookObservers(
  { hooks, id: agentId }: Agent,
  sessionId: string,
  environment: HookEnvironment,
): HookObservers | null {
  if (!hooks) return null;
  const pending = new Set<Promise<void>>();
  return {
    take(event) {
      const input = inputOf(event, { sessionId, agentId });
      if (!input || !hooks.has(input.event)) return;
      const told = tellHooks(hooks, input, environment);
      pending.add(told);
      void told.then(() => pending.delete(told));
    },
    async settled() {
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}

/** Tells hooks that a session ends here. Resolves when they have finished, or their time is up. */
export async function endSession(
  {
    agent,
    state,
    clock,
    hub,
  }: { readonly agent: Agent; readonly state: SessionState; readonly clock: Clock; readonly hub: Hub },
  reason: string,
): Promise<void> {
  if (!agent.hooks?.has('session_end', reason)) return;
  const input: HookInput = { event: 'session_end', sessionId: state.sessionId, agentId: agent.id, reason };
  await tellHooks(agent.hooks, input, {
    clock,
    signal: new AbortController().signal,
    messages: state.view,
    warn: (code, message) => hub.emit({ type: 'warning', afterSeq: state.seq, code, message }),
  });
}

function inputOf(
  event: DurableEvent,
  common: { readonly sessionId: string; readonly agentId: string },
): HookInput | null {
  switch (event.type) {
    case 'run_ended': {
      const { runId, status, message, turns, usage, cost } = event;
      // A run that a hook kept from starting has nothing after it, as it had nothing before.
      if (event.inputSeq !== undefined) return null;
      const said = message === undefined ? {} : { message };
      return { event: 'after_run', ...common, runId, status: status, ...said, turns, usage, cost };
    }
    case 'compacted': {
      const { runId, trigger, tokensBefore, tokensAfter } = event;
      const run = runId === undefined ? {} : { runId };
      return { event: 'after_compaction', ...common, ...run, trigger, tokensBefore, tokensAfter };
    }
    case 'turn_ended': {
      const { runId, turnIndex, usage, cost } = event;
      return { event: 'after_turn', ...common, runId, turnIndex, usage, cost };
    }
    case 'attempt_failed': {
      const { runId, attempt, error, retry } = event;
      return { event: 'model_error', ...common, runId, attempt, error, willRetry: retry !== undefined };
    }
    case 'run_paused': {
      const { runId, reason: kind, pending } = event;
      const names = pending.map(({ toolName }) => toolName).join(', ');
      const message =
        kind === 'approval' ? `Waiting for an answer about: ${names}.` : `Waiting for the client to run: ${names}.`;
      return { event: 'notification', ...common, runId, kind, message };
    }
    default:
      return null;
  }
}
