import type { Agent } from '../agent.ts';
import type { LiveEvent } from '../events/events.ts';
import type { Clock } from '../ports/clock.ts';
import type { SessionState } from './state.ts';

/** Calls that run side by side, and where they are. */
export interface RunningCalls {
  readonly runId: string;
  readonly turnIndex: number;
  readonly jobs: readonly {
    readonly call: { readonly callId: string; readonly name: string };
    /** When it began, while it runs. */
    readonly since: number | null;
  }[];
}

/** Says how long slow calls have been running, at the agent's interval. */
export interface ToolProgress {
  /** These run from now on, instead of others. */
  watch(calls: RunningCalls): void;
  /** They have ended. */
  rest(): void;
  /** Nothing runs any more. */
  close(): void;
}

/**
 * One timer for all of a drive: most calls end long before they are reported, so it isn't set anew with each of them but
 * looks, when it fires, whether the ones that run now have been running for long enough.
 */
export function createToolProgress(drive: {
  readonly agent: Agent;
  readonly state: SessionState;
  readonly clock: Clock;
  readonly emit: (event: LiveEvent) => void;
  readonly observed: () => boolean;
}): ToolProgress {
  const { clock, emit, observed, state } = drive;
  const { toolProgressMs } = drive.agent;
  let calls: RunningCalls | null = null;
  let dueAt = 0;
  let cancel: (() => void) | null = null;

  const report = ({ runId, turnIndex, jobs }: RunningCalls): void => {
    const now = clock.now();
    for (const { call, since } of jobs) {
      if (since === null) continue;
      const { callId, name: toolName } = call;
      const elapsedMs = now - since;
      emit({ type: 'tool_progress', afterSeq: state.seq, runId, turnIndex, callId, toolName, elapsedMs });
    }
  };
  const look = (): void => {
    cancel = null;
    if (calls === null) return;
    if (clock.now() >= dueAt) {
      if (observed()) report(calls);
      dueAt = clock.now() + toolProgressMs;
    }
    // No longer than that, should the clock have been set back.
    cancel = clock.after(Math.min(toolProgressMs, dueAt - clock.now()), look, { background: true });
  };
  return {
    watch(next) {
      calls = next;
      dueAt = clock.now() + toolProgressMs;
      cancel ??= clock.after(toolProgressMs, look, { background: true });
    },
    rest() {
      calls = null;
    },
    close() {
      calls = null;
      cancel?.();
      cancel = null;
    },
  };
}
