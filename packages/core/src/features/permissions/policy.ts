import { toolsUnder, type PermissionConfig, type Rights } from './permissions.ts';
import { readRule } from './rules/rule.ts';
import type { PermissionRule } from '../../tools/permission-rule.ts';
import type { RuleBehavior } from '../../events/permission-updates.ts';
import { union, without, type SessionPermissions } from './updates.ts';

/** What holds for a call: the agent's permissions with the session's. */
export interface Policy extends Rights {
  /** What holds for the agents above a sub-agent: a call must pass it too. Absent where there are none. */
  readonly above?: readonly Rights[];
  /** Tools whose calls need no decision. */
  readonly free: ReadonlySet<string>;
  /** Tools that are denied altogether. */
  readonly removed: ReadonlySet<string>;
}

/** Policies made so far: a session's permissions change seldom, and are asked for at every call. */
const policies = new WeakMap<PermissionConfig, WeakMap<SessionPermissions, Policy>>();

/** The agent's permissions as the session has changed them. */
export function policyOf(config: PermissionConfig, session: SessionPermissions | null): Policy {
  const own = ownPolicy(config, session);
  return config.inherited === null ? own : policyUnder(config, own, config.inherited(), session);
}

/** A sub-agent's policies, by its own: what is above it changes seldom too. */
const under = new WeakMap<Policy, Policy & { readonly from: readonly Rights[] }>();

/** Its own rights, and those of the agents above it with what they grant it. */
function policyUnder(
  { tools, known, grants }: PermissionConfig,
  own: Policy,
  above: readonly Rights[],
  session: SessionPermissions | null,
): Policy {
  const before = under.get(own);
  if (before && before.from.length === above.length && before.from.every((each, index) => each === above[index])) {
    return before;
  }
  // What was allowed by those who were asked about the sub-agent's calls is allowed from above.
  const said = (session?.rules ?? []).filter(({ behavior }) => behavior === 'allow');
  const granted = [...grants, ...said.map(({ text, source }) => readRule(text, source, known))];
  const rights = above.map(({ mode, rules, directories }) => ({
    mode,
    rules: { ...rules, allow: [...rules.allow, ...granted] },
    directories,
  }));
  const seen = rights.map(({ mode, rules }) => toolsUnder(tools, mode, rules));
  const made = {
    ...own,
    rules: { ...own.rules, allow: [...own.rules.allow, ...grants] },
    above: rights,
    free: new Set([...own.free].filter((name) => seen.every(({ free }) => free.has(name)))),
    removed: new Set([...own.removed, ...seen.flatMap(({ removed }) => [...removed])]),
    from: above,
  };
  under.set(own, made);
  return made;
}

function ownPolicy(config: PermissionConfig, session: SessionPermissions | null): Policy {
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
    ...session.rules
      .filter((rule) => rule.behavior === behavior)
      .map(({ text, source }) => readRule(text, source, config.known)),
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
