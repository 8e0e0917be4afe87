import type { LimitName, Limits, LimitsData, SizeLimit, UseLimit } from '../../events/limits.ts';

/** The limits that an agent has by default. */
export const DEFAULT_LIMITS: Limits = Object.freeze({
  maxTurns: 50,
  maxToolTurns: Infinity,
  maxToolCalls: Infinity,
  maxCallsPerTurn: 128,
  maxTotalTokens: 1_000_000,
  maxDurationMs: 600_000,
  maxCost: Infinity,
  maxReplyLength: 16_000_000,
  maxThinkingLength: 16_000_000,
  maxArgumentsLength: 8_000_000,
  warnAt: 0.8,
});

/** The limits of one reply. */
export type ReplyLimits = Pick<Limits, 'maxReplyLength' | 'maxThinkingLength' | 'maxArgumentsLength'>;

/** A limit that was reached: how the run ends, and why in words. */
export interface LimitHit {
  readonly limit: LimitName;
  readonly status:
    | 'turn_limit'
    | 'tool_turn_limit'
    | 'tool_call_limit'
    | 'token_limit'
    | 'time_limit'
    | 'budget_limit'
    | 'reply_limit'
    | 'thinking_limit'
    | 'arguments_limit';
  readonly message: string;
}

/** What a run has used of each limit. */
export type Used = Readonly<Record<UseLimit, number>>;

const LIMITS: Readonly<
  Record<UseLimit, { readonly most: keyof Limits; readonly status: LimitHit['status']; readonly words: string }>
> = {
  turns: { most: 'maxTurns', status: 'turn_limit', words: 'turn limit' },
  tool_turns: { most: 'maxToolTurns', status: 'tool_turn_limit', words: 'tool turn limit' },
  tool_calls: { most: 'maxToolCalls', status: 'tool_call_limit', words: 'tool call limit' },
  tokens: { most: 'maxTotalTokens', status: 'token_limit', words: 'token limit' },
  time: { most: 'maxDurationMs', status: 'time_limit', words: 'time limit' },
  cost: { most: 'maxCost', status: 'budget_limit', words: 'budget' },
};

/** In this order limits are looked at, and warned of. */
const LIMIT_NAMES = Object.keys(LIMITS) as readonly UseLimit[];

const SIZE_LIMITS: Readonly<
  Record<SizeLimit, { readonly most: keyof ReplyLimits; readonly status: LimitHit['status']; readonly what: string }>
> = {
  reply: { most: 'maxReplyLength', status: 'reply_limit', what: 'a reply' },
  thinking: { most: 'maxThinkingLength', status: 'thinking_limit', what: 'a block of thinking' },
  arguments: { most: 'maxArgumentsLength', status: 'arguments_limit', what: "a call's arguments" },
};

/** How a run ends whose reply was stopped for its size. */
export function sizeHit(limit: SizeLimit, limits: ReplyLimits): LimitHit {
  const { most, status, what } = SIZE_LIMITS[limit];
  return { limit, status, message: `${limit} limit reached (${what} may have ${limits[most]} characters)` };
}

/** So much of a limit, in the unit a person reads it in. */
function amount(limit: UseLimit, used: number, most: number): string {
  switch (limit) {
    case 'time':
      return `${(used / 1000).toFixed(1)} s of ${most / 1000} s`;
    case 'cost':
      return `$${used.toFixed(2)} of $${most.toFixed(2)}`;
    default:
      return `${used} of ${most} ${limit.replace('_', ' ')}`;
  }
}

/** How a run ends at a limit. */
export function limitHit(limit: UseLimit, used: number, most: number, more = ''): LimitHit {
  const { status, words } = LIMITS[limit];
  return { limit, status, message: `${words} reached (${amount(limit, used, most)})${more}` };
}

/** The first of these limits that is reached, if any. */
export function reachedLimit(used: Used, limits: Limits, names: readonly UseLimit[]): LimitHit | null {
  for (const name of names) {
    const most = limits[LIMITS[name].most];
    if (used[name] >= most) return limitHit(name, used[name], most);
  }
  return null;
}

/** The limits that come near and that nobody has been warned of, each with what is to be said. */
export function limitWarnings(
  used: Used,
  limits: Limits,
  warned: readonly LimitName[],
): { readonly limit: UseLimit; readonly text: string }[] {
  const all: { readonly limit: UseLimit; readonly text: string }[] = [];
  for (const limit of LIMIT_NAMES) {
    const most = limits[LIMITS[limit].most];
    if (!(used[limit] >= limits.warnAt * most) || used[limit] >= most || warned.includes(limit)) continue;
    const { words } = LIMITS[limit];
    const text = `[The ${words} is near: ${amount(limit, used[limit], most)} used. Finish what matters most.]`;
    all.push({ limit, text });
  }
  return all;
}

/** An agent's limits with a run's own put over them. */
export function withLimits(limits: Limits, own: LimitsData | null): Limits {
  if (own === null) return limits;
  const changes = Object.entries(own).map(([name, value]) => [name, value ?? Infinity]);
  return { ...limits, ...(Object.fromEntries(changes) as Partial<Limits>) };
}
