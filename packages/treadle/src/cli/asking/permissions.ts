import {
  TreadleError,
  type CanUseTool,
  type JsonObject,
  type PermissionMode,
  type PermissionOptions,
  type RunResult,
} from '@treadle/core';
import { checkRule, type PermissionSettings } from '@treadle/core/permissions';

import type { CombinedSettings } from '../../settings/combine.ts';
import { UsageError } from '../usage-error.ts';

/** A call that was denied, as the JSON result has it. */
export interface ReportedDenial {
  readonly code: 'permission_denied';
  readonly callId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  /** What the model was told. */
  readonly reason: string;
  /** The flag that lets the tool act where nothing denies it, such as `--allow bash`. */
  readonly allowWith: string;
}

const WRITERS: readonly string[] = ['write_file', 'edit_file'];

/** Words of `--allow`, `--ask` and `--deny` that stand for rules. */
const ALIASES: Readonly<Record<string, readonly string[]>> = { all: ['*'], write: WRITERS };

/** What was said about permissions on the command line. */
export interface PermissionFlags {
  readonly allow: readonly string[];
  readonly ask: readonly string[];
  readonly deny: readonly string[];
  readonly mode: PermissionMode | undefined;
  /** True when `--cwd` named the folder, which lets tools change files in it. */
  readonly folderNamed: boolean;
}

/** @throws UsageError for a rule that can't be used, or is about no tool there is. */
export function rulesOfFlags(flags: PermissionFlags, toolNames: readonly string[]): PermissionSettings {
  const read = (behavior: 'allow' | 'ask' | 'deny'): string[] =>
    flags[behavior].flatMap((word) => rulesOf(word, behavior, toolNames));
  const named = flags.folderNamed ? WRITERS.map((name) => `${name}(**)`) : [];
  return { source: 'cliArg', allow: [...read('allow'), ...named], ask: read('ask'), deny: read('deny') };
}

function rulesOf(word: string, behavior: 'allow' | 'ask' | 'deny', toolNames: readonly string[]): readonly string[] {
  const alias = Object.hasOwn(ALIASES, word) ? ALIASES[word] : undefined;
  if (alias) return alias;
  try {
    checkRule(word, behavior, 'cliArg', toolNames);
  } catch (error) {
    throw error instanceof TreadleError ? new UsageError(`--${behavior}: ${error.message}`) : error;
  }
  return [word];
}

/** What the agent may do: the command line's rules and the settings', and whoever answers for what they leave open. */
export function permissionsFor(
  rules: PermissionSettings,
  mode: PermissionMode | undefined,
  settings: CombinedSettings,
  rest: Pick<PermissionOptions, 'canUseTool' | 'saveUpdate' | 'directories'>,
): PermissionOptions {
  const holds = mode ?? settings.mode ?? 'default';
  return {
    ...rest,
    mode: holds,
    // Only a flag, which is seen, makes it possible.
    allowBypass: mode === 'bypass',
    settings: [rules, ...(settings.permissions.settings ?? [])],
  };
}

const allowWith = (toolName: string): string => `--allow ${WRITERS.includes(toolName) ? 'write' : toolName}`;

/** Answers where nobody can be asked: no, and how the user can allow it. */
export function nobodyToAsk(note: (text: string) => void): CanUseTool {
  const noted = new Set<string>();
  return (toolName, _input, { label, access }) => {
    const flag = allowWith(toolName);
    const because = access?.reason === undefined ? '' : ` ${sentence(access.reason)}`;
    if (!noted.has(toolName)) note(`Refused: ${toolName} (${label}).${because} To allow it, run again with ${flag}.`);
    noted.add(toolName);
    const how = WRITERS.includes(toolName) ? `${flag}, or by naming the folder with --cwd` : flag;
    return { behavior: 'deny', message: `The user has not allowed it, and can allow it with ${how}.${because}` };
  };
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** The denied calls of a run, for programs. */
export const reportedDenials = ({ permissionDenials }: RunResult): readonly ReportedDenial[] =>
  permissionDenials.map((denial) => ({
    code: 'permission_denied',
    ...denial,
    allowWith: allowWith(denial.toolName),
  }));
