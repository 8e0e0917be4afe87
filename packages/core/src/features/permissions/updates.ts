import type {
  PermissionMode,
  PermissionUpdate,
  RuleBehavior,
  UpdateDestination,
} from '../../events/permission-updates.ts';

/** An update that a settings file is to keep. */
export type FileUpdate = PermissionUpdate & { readonly destination: Exclude<UpdateDestination, 'session'> };

/** Whether a settings file is to keep an update. */
export const isFileUpdate = (update: PermissionUpdate): update is FileUpdate => update.destination !== 'session';

/** What the updates of a session came to, as data. Never changed in place: every update makes a new one. */
export interface SessionPermissions {
  readonly mode: PermissionMode | null;
  readonly rules: readonly SessionRule[];
  /** The agent's rules that no longer hold: single ones, or with `text` null all of that behaviour and source. */
  readonly removed: readonly (Omit<SessionRule, 'text'> & { readonly text: string | null })[];
  readonly directories: readonly string[];
  readonly removedDirectories: readonly string[];
}

interface SessionRule {
  readonly behavior: RuleBehavior;
  readonly source: UpdateDestination;
  readonly text: string;
}

const NOTHING: SessionPermissions = Object.freeze({
  mode: null,
  rules: [],
  removed: [],
  directories: [],
  removedDirectories: [],
});

/** Folds an update into what a session has. Pure. */
export function applyUpdate(before: SessionPermissions | null, update: PermissionUpdate): SessionPermissions {
  const now = before ?? NOTHING;
  if (update.type === 'setMode') return { ...now, mode: update.mode };
  if ('directories' in update) return withDirectories(now, update);
  const { behavior, destination: source } = update;
  const isOfKind = (rule: { readonly behavior: RuleBehavior; readonly source: UpdateDestination }): boolean =>
    rule.behavior === behavior && rule.source === source;
  const named = new Set(update.rules);
  const kept = now.rules.filter((rule) => !isOfKind(rule) || (update.type !== 'replaceRules' && !named.has(rule.text)));
  const added = update.type === 'removeRules' ? [] : [...named].map((text) => ({ behavior, source, text }));
  const othersRemoved = now.removed.filter((rule) => !isOfKind(rule) || rule.text === null || !named.has(rule.text));
  if (update.type === 'addRules') return { ...now, rules: [...kept, ...added] };
  const gone =
    update.type === 'replaceRules'
      ? [{ behavior, source, text: null }]
      : [...named].map((text) => ({ behavior, source, text }));
  return { ...now, rules: [...kept, ...added], removed: [...othersRemoved, ...gone] };
}

function withDirectories(
  now: SessionPermissions,
  { type, directories }: Extract<PermissionUpdate, { directories: unknown }>,
): SessionPermissions {
  const [put, take] = type === 'addDirectories' ? [union, without] : [without, union];
  return {
    ...now,
    directories: put(now.directories, directories),
    removedDirectories: take(now.removedDirectories, directories),
  };
}

/** Both lists, each item once. */
export const union = (list: readonly string[], more: readonly string[]): string[] => [...new Set([...list, ...more])];

/** A list without the items of another. */
export const without = (list: readonly string[], fewer: readonly string[]): string[] =>
  list.filter((item) => !fewer.includes(item));
