import type { DurableEventBody, Notice } from '../../events/events.ts';
import { findNoProgress, steeringText } from './guard.ts';
import { limitHit, limitWarnings, reachedLimit, type LimitHit } from '../../kernel/services/limits.ts';
import type { LimitName, UseLimit } from '../../events/limits.ts';
import type { BetweenTurns } from '../../kernel/between-turns.ts';
import { limitsOf, usedBy } from '../../kernel/services/run-limits.ts';
import type { RunState } from '../../kernel/state.ts';

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

/** Whether the run's time is up: then nobody is asked about its end, for nobody would be given the time to answer. */
export const timeIsUp = ({ run, agent, now }: BetweenTurns): LimitHit | null =>
  reachedLimit(usedBy(run, now), limitsOf(run, agent), ONLY_TIME);

/** The one limit that is looked at inside a turn. */
export const ONLY_TIME: readonly UseLimit[] = ['time'];
const BETWEEN_TURNS: readonly UseLimit[] = ['time', 'turns', 'tokens'];
const BETWEEN_CALLS: readonly UseLimit[] = ['time', 'turns', 'tool_turns', 'tokens'];

/** What the history says about a run that was stopped. */
export function limitMessage(run: RunState, at: number, { limit, message }: LimitHit, more = ''): DurableEventBody {
  return notice(run, at, 'limit', 'limit', { type: 'limit', limit }, `[Agent stopped: ${message}]${more}`);
}

/** A message of the runtime's own, said once. */
function notice(
  run: RunState,
  at: number,
  name: string,
  origin: 'limit' | 'reminder',
  about: Notice,
  text: string,
): DurableEventBody {
  const message = { role: 'user', id: `${run.runId}.${name}`, at, origin, content: [{ type: 'text', text }] } as const;
  return { type: 'message_added', at, runId: run.runId, inView: true, notice: about, message };
}

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
  if (agent.closingCall === null || !LEAVE_A_CALL.has(hit.limit)) return null;
  return limitMessage(run, now, hit, ` ${agent.closingCall}`);
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

export function noProgress({ run, agent, now, last }: BetweenTurns): Stuck | null {
  const { guard } = run.limits;
  if (!guard || !agent.noProgress || last === null) return null;
  const finding = findNoProgress(guard, agent.noProgress);
  if (!finding) return null;
  const { pattern, what } = finding;
  if (!guard.steered.includes(pattern)) {
    const about: Notice = { type: 'no_progress', pattern, stopped: false };
    return {
      type: 'steer',
      message: notice(run, now, `progress.${run.turns}`, 'reminder', about, steeringText(finding)),
    };
  }
  const why = `no progress (${what})`;
  const about: Notice = { type: 'no_progress', pattern, stopped: true };
  return { type: 'stop', message: notice(run, now, 'limit', 'limit', about, `[Agent stopped: ${why}]`), why };
}
