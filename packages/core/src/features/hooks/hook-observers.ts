import type { Agent } from '../../agent/agent.ts';
import type { DurableEvent } from '../../events/events.ts';
import { tellHooks, type HookEnvironment } from './ask.ts';
import { modeOf } from './decide.ts';
import type { HookInput, HookInputs } from './hook.ts';
import type { JsonObject } from '../../json.ts';
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
  agent: Agent,
  state: SessionState,
  { clock, signal, warn }: Pick<HookEnvironment, 'clock' | 'signal' | 'warn'>,
): HookObservers | null {
  const { hooks, id: agentId } = agent;
  if (!hooks) return null;
  const pending = new Set<Promise<void>>();
  const cutOff = cutOffCalls();
  return {
    take(event) {
      const common = { sessionId: state.sessionId, agentId };
      for (const input of [...cutOff(event, common), ...inputsOf(event, common)]) {
        if (!hooks.has(input.event)) continue;
        const permissionMode = modeOf(agent, state);
        const told = tellHooks(hooks, input, { clock, signal, warn, messages: state.view, permissionMode });
        pending.add(told);
        void told.then(() => pending.delete(told));
      }
    },
    async settled() {
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}

interface Common {
  readonly sessionId: string;
  readonly agentId: string;
}

/** Finds the calls that failed because their run was ended: nobody asks the hooks about them any more. */
function cutOffCalls(): (event: DurableEvent, common: Common) => readonly HookInput[] {
  const failed = new Map<string, HookInputs['tool_failed']>();
  const started = new Map<string, JsonObject>();
  return (event, common) => {
    if (event.type === 'tool_started') started.set(event.callId, event.arguments);
    else if (event.type === 'decision_made' && event.callId !== undefined) failed.delete(event.callId);
    else if (event.type === 'tool_ended' && event.isError) {
      const { turnIndex, toolName, callId, content } = event;
      const args = started.get(callId);
      if (args) failed.set(callId, { turnIndex, toolName, callId, arguments: args, content, isError: true });
    } else if (event.type === 'run_ended' || event.type === 'turn_started') {
      const calls = event.type === 'run_ended' ? [...failed.values()] : [];
      failed.clear();
      started.clear();
      return calls.map((call) => ({
        event: 'tool_failed',
        ...common,
        runId: event.runId,
        ...call,
        interrupted: true,
      }));
    }
    return [];
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
    permissionMode: modeOf(agent, state),
    warn: (code, message) => hub.emit({ type: 'warning', afterSeq: state.seq, code, message }),
  });
}

function inputsOf(event: DurableEvent, common: Common): readonly HookInput[] {
  const input = inputOf(event, common);
  if (input === null) return [];
  if (event.type !== 'run_ended' || event.status !== 'aborted') return [input];
  const { runId } = event;
  return [{ event: 'stop', ...common, runId, text: '', stopHookActive: false, interrupted: true }, input];
}

function inputOf(event: DurableEvent, common: Common): HookInput | null {
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
