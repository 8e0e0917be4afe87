import type { Clock } from '@treadle/core';
import { errorText } from '@treadle/core';
import { FileProblem } from '../root/problem.ts';
import { sandboxArguments, withLimits } from './arguments.ts';
import type { SandboxParts } from './parts.ts';
import { probe } from './probe.ts';
import type { ProcessGroup } from './process-limit.ts';
import { clearingPlaceholders, protectionsOf, withPlaceholders } from './protect.ts';
import type { SandboxSettings } from './settings.ts';

/** Whether commands can be sandboxed on this machine, found out by really doing it. */
export interface SandboxStatus {
  readonly works: boolean;
  /** Why it doesn't, in words for a person; null when it does. */
  readonly reason: string | null;
  /** The absolute path of bubblewrap; null when there is none. */
  readonly program: string | null;
  /** How the number of processes is limited. */
  readonly processLimit: 'cgroup' | 'rlimit' | 'none' | null;
}

/** A command line to start in place of a command. */
export interface SandboxedCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** Takes away what had to be put there. Call it when the command has ended. */
  release(): Promise<void>;
}

/** A sandbox for the commands of one working folder. */
export interface Sandbox {
  readonly settings: SandboxSettings;
  /** The answer of a probe that is made once for a process. */
  status(): Promise<SandboxStatus>;
  /** @throws FileProblem `sandbox` when the command can't be sandboxed. */
  wrap(command: readonly string[]): Promise<SandboxedCommand>;
}

/** What a machine has that a sandbox is made of. */
export interface SandboxMeans {
  readonly program: string;
  readonly flock: string;
  readonly processLimit: 'cgroup' | 'rlimit' | 'none';
}

/** Makes a sandbox for a folder, by its real path. */
export function openSandbox(root: string, settings: SandboxSettings, parts: SandboxParts, clock: Clock): Sandbox {
  const found = (): ReturnType<typeof probe> => probe(settings, parts, clock);
  return {
    settings,
    status: async () => (await found()).status,
    async wrap(command) {
      const { means, status } = await found();
      if (means === undefined || !status.works)
        throw new FileProblem('sandbox', `There is no sandbox: ${status.reason}.`);
      return wrapCommand(command, { root, settings, means, parts, clock });
    },
  };
}

export interface WrapOptions {
  readonly root: string;
  readonly settings: SandboxSettings;
  readonly means: SandboxMeans;
  readonly parts: SandboxParts;
  readonly clock: Clock;
}

const clearTimeoutMs = 10_000;

export async function wrapCommand(command: readonly string[], options: WrapOptions): Promise<SandboxedCommand> {
  const { root, settings, means, parts, clock } = options;
  const { program, flock, processLimit } = means;
  if (root === '/')
    throw new FileProblem('sandbox', 'The working folder is the whole file system: nothing is left to protect.');
  const limit = settings.maxProcesses;
  const protections = settings.mode === 'workspace-write' ? await protectionsOf(root, settings.readOnlyNames) : [];
  const placeholders = protections.filter((one) => one.needsPlaceholder);
  const group = processLimit === 'cgroup' && limit !== null ? await requiredGroup(parts, limit) : undefined;
  const sandboxed = sandboxArguments({
    program,
    root,
    settings,
    protections,
    isAdministrator: parts.isAdministrator,
    processLimit: processLimit === 'rlimit' && limit !== null ? limit : undefined,
    command,
  });
  const held = placeholders.length === 0 ? sandboxed : withPlaceholders(flock, root, placeholders, sandboxed);
  const [file = '', ...args] = withLimits(group?.joinFile, settings.maxFileBytes, held);
  return {
    file,
    args,
    async release() {
      await group?.remove();
      if (placeholders.length === 0) return;
      const [clearing = '', ...rest] = clearingPlaceholders(flock, root, placeholders);
      await parts.run({ file: clearing, args: rest, folder: '/', timeoutMs: clearTimeoutMs, clock });
    },
  };
}

async function requiredGroup(parts: SandboxParts, limit: number): Promise<ProcessGroup> {
  try {
    const group = await parts.makeProcessGroup(limit);
    if (group !== undefined) return group;
  } catch (error) {
    throw new FileProblem('sandbox', `The number of processes can not be limited: ${errorText(error)}`, error);
  }
  throw new FileProblem('sandbox', 'The number of processes can not be limited any more.');
}
