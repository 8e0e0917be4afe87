import type { PermissionMode } from './mode.ts';
import { toolsUnder, type PermissionConfig } from './permissions.ts';
import { readRule, type PermissionRule, type RuleBehavior } from './rule.ts';
import { union, without, type SessionPermissions } from './updates.ts';

/** What holds for a call: the agent's permissions with the session's. */
export interface Policy {
  readonly mode: PermissionMode;
  readonly rules: Readonly<Record<RuleBehavior, readonly PermissionRule[]>>;
  readonly directories: readonly string[];
  /** Tools whose calls need no decision. */
  readonly free: ReadonlySet<string>;
  /** Tools that are denied altogether. */
  readonly removed: ReadonlySet<string>;
}

/** Policies made so far: a session's permissions change seldom, and are asked for at every call. */
const policies = new WeakMap<PermissionConfig, WeakMap<SessionPermissions, Policy>>();

/** The agent's permissions as the session has changed them. */
export function policyOf(config: PermissionConfig, session: SessionPermissions | null): Policy {
  if (session === null) return config;
  const known = policies.get(config) ?? new WeakMap<SessionPermissions, Policy>();
  policies.set(config, known);
  const made = known.get(session) ?? makePolicy(config, session);
  known.set(session, made);
  return made;
}

function makePolicy(config: PermissionConfig, session: SessionPermissions): Policy {
  const rulesOf = (behavior: RuleBehavior): PermissionRule[] => [
    ...config.rules[behavior].filter(
      ({ text, source }) =>
        !session.removed.some(
          (gone) => gone.behavior === behavior && gone.source === source && (gone.text ?? text) === text,
        ),
    ),
    ...session.rules.filter((rule) => rule.behavior === behavior).map(({ text, source }) => readRule(text, source)),
  ];
  // The agent may be another one than when the mode was set.
  const wanted = session.mode === 'bypass' && !config.allowBypass ? null : session.mode;
  const mode = wanted ?? config.mode;
  const rules = { allow: rulesOf('allow'), ask: rulesOf('ask'), deny: rulesOf('deny') };
  return {
    mode,
    rules,
    ...toolsUnder(config.tools, mode, rules),
    directories: without(union(config.directories, session.directories), session.removedDirectories),
  };
}
