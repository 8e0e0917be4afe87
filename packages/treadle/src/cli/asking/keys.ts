import { secretGuard, type Journal, type Model, type Tool } from '@treadle/core';

import type { ShowingProcess } from '@treadle/tools';

import type { SandboxSetting } from '../../settings/settings.ts';
import type { CliIo } from '../io.ts';

/** Keeps the keys of an environment out of all that a run keeps, shows and sends to a model. */
export interface KeyGuard {
  /** By the names of their variables. */
  readonly keys: Readonly<Record<string, string>>;
  readonly journal: (journal: Journal) => Journal;
  readonly model: (model: Model) => Model;
  readonly tool: (tool: Tool) => Tool;
  readonly text: (text: string) => string;
}

/** The keys of model providers in an environment, and the token of `treadle serve`. */
async function keysOf(env: CliIo['env']): Promise<Readonly<Record<string, string>>> {
  // Loaded on use: without a key a run may need no provider.
  if (!Object.keys(env).some((name) => /KEY|TOKEN/.test(name))) return {};
  const { keysIn } = await import('@treadle/models');
  const { TREADLE_TOKEN: token = '' } = env;
  return { ...keysIn(env), ...(token.length < 8 ? {} : { TREADLE_TOKEN: token }) };
}

/** @param env the environment, with what the user's settings add to it */
export async function keyGuard(env: CliIo['env']): Promise<KeyGuard> {
  const keys = await keysOf(env);
  if (Object.keys(keys).length === 0) {
    const same = <Value>(value: Value): Value => value;
    return { keys, journal: same, model: same, tool: same, text: same };
  }
  const { journal, model, tool, redactor } = secretGuard({ secrets: keys });
  return {
    keys,
    journal,
    model,
    // A file with a key in it that is written anew, as a model sees it, would lose the key.
    tool: (given) => tool(given, [], { unrevealed: given.readOnly ? 'keep' : 'refuse' }),
    text: redactor.redact,
  };
}

/** Which keys are in the environment, and which processes show them to other processes of the user. */
export interface KeyReport {
  readonly variables: readonly string[];
  /** Null where the system doesn't tell. */
  readonly shownBy: readonly ShowingProcess[] | null;
}

export async function keyReport(env: CliIo['env']): Promise<KeyReport> {
  const keys = await keysOf(env);
  const { processesShowing } = await import('@treadle/tools');
  return { variables: Object.keys(keys), shownBy: await processesShowing(keys) };
}

/** What a command without a sandbox can read of the keys, as a sentence; null for nothing. */
export function exposureText({ variables, shownBy }: KeyReport): string | null {
  if (variables.length === 0 || shownBy?.length === 0) return null;
  if (shownBy === null) return `It may read ${variables.join(', ')} of this process: this system can't hide them.`;
  const names = [...new Set(shownBy.flatMap(({ secrets }) => secrets))];
  return `It can read ${names.join(', ')} in the environment of ${shownBy.map(processName).join(', ')}.`;
}

const processName = ({ pid, name }: ShowingProcess): string => (pid === process.pid ? 'treadle' : `${name} (${pid})`);

/** What is to be said beside a question about a command: that no sandbox holds it, where it can read keys. */
export async function exposureOf(
  keys: Readonly<Record<string, string>>,
  sandbox: SandboxSetting | undefined,
): Promise<string | null> {
  if (Object.keys(keys).length === 0) return null;
  if (await isSandboxed(sandbox)) return null;
  const { processesShowing } = await import('@treadle/tools');
  const text = exposureText({ variables: Object.keys(keys), shownBy: await processesShowing(keys) });
  return text === null ? null : `It runs without a sandbox. ${text}`;
}

async function isSandboxed(sandbox: SandboxSetting | undefined): Promise<boolean> {
  const { sandboxStatus } = await import('@treadle/tools');
  return sandbox?.mode !== 'off' && (await sandboxStatus(sandbox)).works;
}

/** Whether commands run without a sandbox: by the settings, or because there is none and none is required. */
export const runsUnconfined = async (sandbox: SandboxSetting | undefined): Promise<boolean> =>
  sandbox?.mode === 'off' || (sandbox?.required !== true && !(await isSandboxed(sandbox)));
