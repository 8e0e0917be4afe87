import { TreadleError } from '../../errors.ts';
import type {
  PermissionUpdate,
  UpdateDestination,
  PermissionMode,
  RuleBehavior,
} from '../../events/permission-updates.ts';
import { isJsonObject } from '../../json.ts';
import { toolNameProblem } from '../../names/tool-names.ts';
import { PERMISSION_MODES } from './mode.ts';
import { readRule, refusedRule } from './rule.ts';

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
  return type === 'addDirectories'
    ? {
        ...now,
        directories: union(now.directories, directories),
        removedDirectories: without(now.removedDirectories, directories),
      }
    : {
        ...now,
        directories: without(now.directories, directories),
        removedDirectories: union(now.removedDirectories, directories),
      };
}

/** Both lists, each item once. */
export const union = (list: readonly string[], more: readonly string[]): string[] => [...new Set([...list, ...more])];

/** A list without the items of another. */
export const without = (list: readonly string[], fewer: readonly string[]): string[] =>
  list.filter((item) => !fewer.includes(item));

/**
 * Checks updates that came from outside.
 *
 * @param allowBypass whether the agent's definition makes the mode `bypass` possible
 * @param tools names of the tools there are: rules that deny or ask must be about one. Absent: that isn't checked.
 * @throws TreadleError `invalid_definition`, which says what is wrong with which of them.
 */
export function checkUpdates(
  given: unknown,
  allowBypass: boolean,
  tools?: Iterable<string>,
): readonly PermissionUpdate[] {
  if (!Array.isArray(given)) throw wrong('they must be a list');
  return given.map((update: unknown) => checkUpdate(update, allowBypass, tools && [...tools]));
}

const wrong = (problem: string): TreadleError =>
  new TreadleError('invalid_definition', `The permission updates can't be used: ${problem}.`);

const DESTINATIONS: readonly UpdateDestination[] = ['userSettings', 'projectSettings', 'localSettings', 'session'];

const BEHAVIORS: readonly RuleBehavior[] = ['allow', 'ask', 'deny'];

function checkUpdate(update: unknown, allowBypass: boolean, tools: readonly string[] | undefined): PermissionUpdate {
  if (!isJsonObject(update)) throw wrong('each of them must be an object');
  const destination = oneOf('destination', update['destination'], DESTINATIONS);
  const { type } = update;
  if (type === 'setMode') {
    const mode = oneOf('mode', update['mode'], PERMISSION_MODES);
    if (mode === 'bypass' && !allowBypass) throw wrong('the mode bypass needs allowBypass: true in the agent');
    return { type, mode, destination };
  }
  if (type === 'addDirectories' || type === 'removeDirectories') {
    const directories = texts('directories', update['directories']);
    const relative = directories.find((folder) => !folder.startsWith('/') || folder.split('/').includes('..'));
    if (relative !== undefined) throw wrong(`the folder ${JSON.stringify(relative)} must be an absolute path`);
    return { type, directories, destination };
  }
  if (type !== 'addRules' && type !== 'replaceRules' && type !== 'removeRules') {
    throw wrong(`there is no type ${JSON.stringify(type)}`);
  }
  const behavior = oneOf('behavior', update['behavior'], BEHAVIORS);
  const holds = type !== 'removeRules' && behavior !== 'allow';
  const rules = texts('rules', update['rules']).map((written) => {
    const { text, tool } = readRule(written, destination);
    const problem = holds && tools ? toolNameProblem(tool, tools) : null;
    if (problem !== null) throw refusedRule(text, problem);
    return text;
  });
  return { type, rules, behavior, destination };
}

function oneOf<Value extends string>(name: string, value: unknown, known: readonly Value[]): Value {
  const found = known.find((item) => item === value);
  if (found !== undefined) return found;
  throw wrong(`${name} must be one of ${known.join(', ')}, and it is ${JSON.stringify(value)}`);
}

function texts(name: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw wrong(`${name} must be a list of texts`);
}
