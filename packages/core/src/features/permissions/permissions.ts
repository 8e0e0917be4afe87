import { mustBePositive } from '../../check-numbers.ts';
import { TreadleError } from '../../errors.ts';
import { refuseUnknownKeys } from '../../names/known-keys.ts';
import type { Tool } from '../../tools/tool.ts';
import type { CanUseTool } from './callback.ts';
import { loadRule } from './rules/load.ts';
import { namesTool, restrainsTool } from './rules/match.ts';
import {
  PERMISSION_MODES,
  type PermissionMode,
  type RuleBehavior,
  type RuleSource,
} from '../../events/permission-updates.ts';
import type { RuleInput } from './rules/rule.ts';
import type { PermissionRule } from '../../tools/permission-rule.ts';
import type { FileUpdate } from './updates.ts';

/** Rules of one source, and how strict it is. */
export interface PermissionSettings {
  readonly allow?: readonly RuleInput[];
  readonly ask?: readonly RuleInput[];
  readonly deny?: readonly RuleInput[];
  readonly source?: RuleSource;
}

/** What an agent may do without asking, what it must ask for, and what it must not do. */
export interface PermissionOptions extends PermissionSettings {
  /** Default `default`. */
  readonly mode?: PermissionMode;
  /** True to make the mode `bypass` possible, now or later. */
  readonly allowBypass?: boolean;
  /** Rules of other sources, such as settings files. All of them hold; deny wins whatever the order. */
  readonly settings?: readonly PermissionSettings[];
  /** Absolute real paths of folders that count as inside, besides the one each tool works in. */
  readonly directories?: readonly string[];
  /** Decides what rules and the mode leave open. Without it the run pauses, and waits for `approve` or `reject`. */
  readonly canUseTool?: CanUseTool;
  /** Milliseconds the callback has before silence means no. Default: no limit, for it may ask a person. */
  readonly callbackTimeoutMs?: number;
  /** Milliseconds a person has to answer before silence means no, whichever process looks then. Default: for ever. */
  readonly answerTimeoutMs?: number;
  /** Keeps the updates whose destination is a settings file; without it they hold for the session only. */
  readonly saveUpdate?: (update: FileUpdate, signal: AbortSignal) => Promise<void>;
}

/** What holds for calls, of one agent: a sub-agent's calls are held against that of every agent above it too. */
export interface Rights {
  readonly mode: PermissionMode;
  readonly rules: Readonly<Record<RuleBehavior, readonly PermissionRule[]>>;
  readonly directories: readonly string[];
}

/** Permissions as an agent has them: every rule read, nothing left to be checked. */
export interface PermissionConfig extends Rights {
  readonly allowBypass: boolean;
  readonly canUseTool: CanUseTool | undefined;
  readonly callbackTimeoutMs: number;
  /** Null: a question waits for ever. */
  readonly answerTimeoutMs: number | null;
  readonly saveUpdate: PermissionOptions['saveUpdate'];
  /** The rights of the agents above a sub-agent as they are now, nearest first. Null for an agent that is nobody's. */
  readonly inherited: (() => readonly Rights[]) | null;
  /** Rules by which the agents above allow a sub-agent more than they may themselves. */
  readonly grants: readonly PermissionRule[];
  /** Names of the agent's tools, and of those that it may come to know. */
  readonly known: ReadonlySet<string>;
  /** The agent's tools, by which the next two are found. */
  readonly tools: readonly Tool[];
  /** Tools that nothing here restrains, so that their calls need no decision. */
  readonly free: ReadonlySet<string>;
  /** Tools that are denied altogether, so that a model isn't told of them. */
  readonly removed: ReadonlySet<string>;
}

const SETTINGS: Readonly<Record<keyof PermissionSettings, true>> = { allow: true, ask: true, deny: true, source: true };

const OPTIONS: Readonly<Record<keyof PermissionOptions, true>> = {
  ...SETTINGS,
  mode: true,
  allowBypass: true,
  settings: true,
  directories: true,
  canUseTool: true,
  callbackTimeoutMs: true,
  answerTimeoutMs: true,
  saveUpdate: true,
};

const BEHAVIORS: readonly RuleBehavior[] = ['allow', 'ask', 'deny'];

/**
 * Checks what an agent's definition says of permissions.
 *
 * @param known names of tools that rules may be about, besides the agent's own and the built-in ones
 * @throws TreadleError `invalid_definition` for a rule or a mode that can't work.
 */
export function checkPermissions(
  options: PermissionOptions = {},
  tools: Iterable<Tool> = [],
  known: readonly string[] = [],
): PermissionConfig {
  const { mode = 'default', allowBypass = false, callbackTimeoutMs = Infinity } = options;
  const { directories = [], canUseTool, saveUpdate, answerTimeoutMs = null } = options;
  if (!PERMISSION_MODES.includes(mode)) {
    throw refused(`The permission mode ${JSON.stringify(mode)} is none of: ${PERMISSION_MODES.join(', ')}.`);
  }
  if (mode === 'bypass' && !allowBypass) {
    throw refused('The permission mode bypass asks for nothing any more. Say allowBypass: true if that is meant.');
  }
  mustBePositive('callbackTimeoutMs', callbackTimeoutMs);
  if (answerTimeoutMs !== null && !(answerTimeoutMs > 0 && answerTimeoutMs < Infinity)) {
    throw refused(`answerTimeoutMs must be milliseconds above 0, and it is ${answerTimeoutMs}.`);
  }
  for (const folder of directories) {
    if (!folder.startsWith('/')) throw refused(`The folder ${JSON.stringify(folder)} must be an absolute path.`);
  }
  refuseUnknownKeys('permissions', options, OPTIONS);
  for (const settings of options.settings ?? []) refuseUnknownKeys('permissions.settings', settings, SETTINGS);
  const all = [...tools];
  const names = new Set([...all.flatMap(({ name, toolsBehind = [] }) => [name, ...toolsBehind]), ...known]);
  const rules: Record<RuleBehavior, PermissionRule[]> = { allow: [], ask: [], deny: [] };
  for (const settings of [options, ...(options.settings ?? [])]) {
    const { source = 'agent' } = settings;
    for (const behavior of BEHAVIORS) {
      for (const input of settings[behavior] ?? []) rules[behavior].push(loadRule(input, behavior, source, names));
    }
  }
  for (const tool of all) refuseUselessRules(tool, rules);
  return Object.freeze({
    mode,
    allowBypass,
    rules: Object.freeze(rules),
    directories: Object.freeze([...directories]),
    canUseTool,
    callbackTimeoutMs,
    answerTimeoutMs,
    saveUpdate,
    inherited: null,
    grants: [],
    known: names,
    tools: all,
    ...toolsUnder(all, mode, rules),
  });
}

const refused = (message: string): TreadleError => new TreadleError('invalid_definition', message);

type Rules = Readonly<Record<RuleBehavior, readonly PermissionRule[]>>;

/** What rules and mode make of tools as such, whatever their arguments. */
export function toolsUnder(
  tools: readonly Tool[],
  mode: PermissionMode,
  rules: Rules,
): Pick<PermissionConfig, 'free' | 'removed'> {
  const namesOf = (those: readonly Tool[]): ReadonlySet<string> => new Set(those.map(({ name }) => name));
  return {
    free: namesOf(tools.filter((tool) => isFree(tool, mode, rules))),
    removed: namesOf(tools.filter(({ name }) => isRemoved(name, rules.deny))),
  };
}

/** Whether a rule without parentheses denies every call of a tool. */
const isRemoved = (toolName: string, deny: readonly PermissionRule[]): boolean =>
  deny.some(({ tool, specifier }) => specifier === null && restrainsTool(tool, toolName));

/** Whether every call of a tool runs, whatever its arguments, unless the session's own rules say otherwise. */
function isFree(tool: Tool, mode: PermissionMode, rules: Rules): boolean {
  if (tool.access !== undefined || tool.approval !== undefined) return false;
  if (mode === 'plan' && !tool.readOnly) return false;
  return ![...rules.deny, ...rules.ask].some((rule) => restrainsTool(rule.tool, tool.name));
}

/** A rule about what a tool doesn't tell of would never hold, or always ask: neither is what was meant. */
function refuseUselessRules({ name, access }: Tool, rules: Rules): void {
  if (access !== undefined) return;
  for (const behavior of BEHAVIORS) {
    const isAbout = behavior === 'allow' ? namesTool : restrainsTool;
    const useless = rules[behavior].find(({ tool, specifier }) => specifier !== null && isAbout(tool, name));
    if (!useless) continue;
    throw refused(
      `The permission rule ${useless.text} can't be used: ${name} doesn't say what its calls touch. ` +
        `Write ${name} for all of its calls, or give the tool an \`access\`.`,
    );
  }
}
