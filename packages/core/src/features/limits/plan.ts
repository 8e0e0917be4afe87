import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody, Notice } from '../../events/events.ts';
import type { LimitName, UseLimit } from '../../events/limits.ts';
import type { BetweenTurns } from '../../kernel/between-turns.ts';
import { limitHit, type LimitHit, limitWarnings, reachedLimit, sizeHit } from '../../kernel/services/limits.ts';
import { rejectCall } from '../../kernel/plan/reject-call.ts';
import { limitMessage, notice } from '../../kernel/plan/run-events.ts';
import { limitsOf, usedBy } from '../../kernel/services/run-limits.ts';
import type { CallState, RunState, TurnState } from '../../kernel/state.ts';
import { findLoop, steeringText } from './loop-detection.ts';

/**
 * The limit that keeps a run from its next turn, if any. Only time counts inside a turn: a turn that began is finished.
 * Money is looked after before each call by itself.
 */
export function limitBefore({ run, agent, now, last }: BetweenTurns): LimitHit | null {
  const limits = limitsOf(run, agent);
  const used = usedBy(run, now);
  if (run.limits.callsUsedUp) return limitHit('tool_calls', used.tool_calls, limits.maxToolCalls);
  return reachedLimit(used, limits, last?.hadCalls === true ? BETWEEN_CALLS : BETWEEN_TURNS);
}

const BETWEEN_TURNS: readonly UseLimit[] = ['time', 'turns', 'tokens'];

const BETWEEN_CALLS: readonly UseLimit[] = ['time', 'turns', 'tool_turns', 'tokens'];

/** What the model is told of limits that come near: with its next turn, each once. */
export function warnings({ run, agent, now }: BetweenTurns): readonly DurableEventBody[] {
  return limitWarnings(usedBy(run, now), limitsOf(run, agent), run.limits.warned).map(({ limit, text }) =>
    notice(run, now, `warning.${limit}`, 'reminder', { type: 'limit_warning', limit }, text),
  );
}

/** Which limits leave a closing call: those of time, tokens and money don't. */
const LEAVE_A_CALL: ReadonlySet<LimitName> = new Set(['turns', 'tool_turns', 'tool_calls']);

/** What the closing call is told; null when the agent wants none, or the limit leaves none. */
export function closingMessage({ run, agent, now }: BetweenTurns, hit: LimitHit): DurableEventBody | null {
  if (agent.wrapUp === null || !LEAVE_A_CALL.has(hit.limit)) return null;
  return limitMessage(run, now, hit, ` ${agent.wrapUp}`);
}

const CUT_OFF = 'Your reply was cut off by the output limit. Go on exactly where it stopped, and repeat nothing.';

/**
 * A text that its length cut off goes on, so many times. What called tools never does: its calls were cut off too, and
 * are answered as such.
 */
export function continueCutReply({ run, agent, now, last }: BetweenTurns): DurableEventBody | null {
  if (last?.stopReason !== 'length' || !last.hasText || last.hadCalls) return null;
  if (run.limits.continued >= agent.maxContinuations) return null;
  return notice(run, now, `cut.${run.turns}`, 'reminder', { type: 'cut_off' }, CUT_OFF);
}

/** What becomes of a run that gets nowhere: the model is told once of each pattern, then it is stopped. */
export type Stuck =
  | { readonly type: 'steer'; readonly message: DurableEventBody }
  | { readonly type: 'stop'; readonly message: DurableEventBody; readonly why: string };

/**
 * Whether the run gets anywhere. Where calls are wanted, and the model was reminded of them, a reply of thoughts is a slip
 * and not empty: all the text of a prompted model may be thoughts.
 */
export function detectLoop({ run, agent, now, last }: BetweenTurns, isReminded: boolean): Stuck | null {
  if (isReminded && hasThoughts(run)) return null;
  const { guard } = run.limits;
  if (!guard || !agent.loopDetection || last === null) return null;
  const finding = findLoop(guard, agent.loopDetection);
  if (!finding) return null;
  const { pattern, what } = finding;
  if (!guard.steered.includes(pattern)) {
    const about: Notice = { type: 'loop_detected', pattern, stopped: false };
    return {
      type: 'steer',
      message: notice(run, now, `progress.${run.turns}`, 'reminder', about, steeringText(finding)),
    };
  }
  const why = `no progress (${what})`;
  const about: Notice = { type: 'loop_detected', pattern, stopped: true };
  return { type: 'stop', message: notice(run, now, 'limit', 'limit', about, `[Agent stopped: ${why}]`), why };
}

/** Calls that the run's limits leave no room for, or that come after its end, are answered without having run. */
export function refuseCalls(run: RunState, turn: TurnState, agent: Agent, now: number): DurableEventBody[] {
  const { closing, toolCalls } = run.limits;
  const { maxToolCalls } = limitsOf(run, agent);
  if (closing === null && toolCalls < maxToolCalls) return [];
  const words = closing?.message ?? limitHit('tool_calls', toolCalls, maxToolCalls).message;
  return turn.calls
    .filter(({ status }) => status === 'requested')
    .map((call) => rejectCall(run, turn, call, now, 'limit', `Not executed: ${words}`));
}

/** As many of the calls as the run may still start. One in doubt was counted when it first did. */
export function withinLimit(calls: readonly CallState[], run: RunState, agent: Agent): readonly CallState[] {
  let left = limitsOf(run, agent).maxToolCalls - run.limits.toolCalls;
  return left >= calls.length ? calls : calls.filter(({ attempt }) => attempt > 0 || left-- > 0);
}

/** The run whose newest reply was stopped for its size. */
export const stoppedForSize = (run: RunState, agent: Agent): LimitHit | null =>
  run.limits.stoppedAt === null ? null : sizeHit(run.limits.stoppedAt, limitsOf(run, agent));

const hasThoughts = ({ lastMessage }: RunState): boolean =>
  lastMessage?.content.some((block) => block.type === 'thinking' && block.text.trim() !== '') === true;
