import { mustBeNumber } from '../../check-numbers.ts';
import { TreadleError } from '../../errors.ts';
import type { Limits, LimitsData } from '../../events/limits.ts';
import { closestName } from '../../names/closest.ts';
import type { JsonObject } from '../../json.ts';
import { DEFAULT_LIMITS } from '../../kernel/services/limits.ts';

/** The instruction for the one call after a limit, when the agent doesn't have its own. */
export const CLOSING_INSTRUCTION =
  'You can call no more tools. Say what you have found out and done, what is still open, and what you would do next.';

/** @throws TreadleError `invalid_definition` for a limit that makes no sense. */
export function checkLimits(limits: Partial<Limits> | undefined): Limits {
  const checked: Limits = { ...DEFAULT_LIMITS, ...limits };
  for (const [name, value] of Object.entries<unknown>({ ...checked })) {
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) {
      const known = Object.keys(DEFAULT_LIMITS).join(', ');
      const meant = closestName(name, Object.keys(DEFAULT_LIMITS));
      const advice = meant === undefined ? '' : ` Write: limits: { ${meant}: … }`;
      throw new TreadleError('invalid_definition', `There is no limit \`${name}\`. The limits are: ${known}.${advice}`);
    }
    mustBeNumber(`limits.${name}`, value);
    if (value > 0) continue;
    throw new TreadleError(
      'invalid_definition',
      `limits.${name} must be greater than 0, and it is ${value}. Infinity switches it off.`,
    );
  }
  return Object.freeze(checked);
}

/** Limits as JSON data, where `Infinity` has no spelling: a limit that is off is left out. */
export function limitsAsData(limits: Limits): JsonObject {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => Number.isFinite(value)));
}

/** Some limits as JSON data that keeps what is off. */
export function limitChanges(limits: Partial<Limits>): LimitsData {
  return Object.fromEntries(
    Object.entries(limits).map(([name, value]) => [name, Number.isFinite(value) ? value : null]),
  );
}
