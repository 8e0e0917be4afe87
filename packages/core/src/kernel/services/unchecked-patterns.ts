import type { ArgumentsOutcome } from '../../tools/tool.ts';
import type { PerformContext } from '../context.ts';
import type { SessionState } from '../state.ts';

/** The warnings that a session had, so that none comes twice. */
const told = new WeakMap<SessionState, Set<string>>();

/**
 * Warns that a value passed whose schema has patterns that nobody checked. Without a validator there is one warning; with
 * one there is a warning for each pattern that it can't check.
 */
export function warnUnchecked(
  { agent, state, emit }: Pick<PerformContext, 'agent' | 'state' | 'emit'>,
  checked: string,
  outcome: ArgumentsOutcome,
): void {
  const unchecked = outcome.ok ? (outcome.unchecked ?? []) : [];
  const known = told.get(state) ?? new Set();
  told.set(state, known);
  for (const pattern of unchecked) {
    const key = agent.validator ? pattern : '';
    if (known.has(key)) continue;
    known.add(key);
    const why = agent.validator
      ? 'because the validator does not support it. Check it where the value is used.'
      : 'nor is any other pattern: the agent has no validator for them. Pass re2Validator() of @treadle/tools.';
    const message = `The pattern ${pattern} of ${checked} is not checked, ${why}`;
    emit({ type: 'warning', afterSeq: state.seq, code: 'pattern_unchecked', message });
  }
}
