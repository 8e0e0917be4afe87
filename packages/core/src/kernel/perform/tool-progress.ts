import type { Agent } from '../../agent/agent.ts';
import type { LiveEvent } from '../../events/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SessionState } from '../state.ts';

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

/** What it needs of a drive. */
interface Drive {
  readonly agent: Agent;
  readonly state: SessionState;
  readonly clock: Clock;
  readonly observe: (event: LiveEvent) => void;
  readonly observed: () => boolean;
}

/**
 * One timer for all of a drive: most calls end long before they are reported, so it isn't set anew with each of them but
 * looks, when it fires, whether the ones that run now have been running for long enough.
 */
export const createToolProgress = (drive: Drive): ToolProgress => new Reports(drive);

class Reports implements ToolProgress {
  private readonly drive: Drive;
  private calls: RunningCalls | null = null;
  private dueAt = 0;
  private cancel: (() => void) | null = null;

  constructor(drive: Drive) {
    this.drive = drive;
  }
  watch(calls: RunningCalls): void {
    const { agent, clock } = this.drive;
    this.calls = calls;
    this.dueAt = clock.now() + agent.toolProgressMs;
    if (this.cancel === null) this.lookIn(agent.toolProgressMs);
  }
  rest(): void {
    this.calls = null;
  }
  close(): void {
    this.calls = null;
    this.cancel?.();
    this.cancel = null;
  }
  private lookIn(ms: number): void {
    this.cancel = this.drive.clock.after(ms, () => this.look(), { background: true });
  }
  private look(): void {
    const { agent, clock, observed } = this.drive;
    this.cancel = null;
    if (this.calls === null) return;
    if (clock.now() >= this.dueAt) {
      if (observed()) this.report(this.calls);
      this.dueAt = clock.now() + agent.toolProgressMs;
    }
    // No longer than the interval, should the clock have been set back.
    this.lookIn(Math.min(agent.toolProgressMs, this.dueAt - clock.now()));
  }
  private report({ runId, turnIndex, jobs }: RunningCalls): void {
    const { clock, observe, state } = this.drive;
    const now = clock.now();
    for (const { call, since } of jobs) {
      if (since === null) continue;
      const { callId, name: toolName } = call;
      const elapsedMs = now - since;
      observe({ type: 'tool_progress', afterSeq: state.seq, runId, turnIndex, callId, toolName, elapsedMs });
    }
  }
}
