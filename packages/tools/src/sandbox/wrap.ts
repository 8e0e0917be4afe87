import type { Clock } from '@treadle/core';
import { errorText } from '@treadle/core';
import { FileProblem } from '../root/problem.ts';
import { entering, sandboxArguments } from './arguments.ts';
import type { SandboxParts } from './parts.ts';
import type { ProcessGroup } from './process-limit.ts';
import { clearingPlaceholders, protectionsOf, withPlaceholders } from './protect.ts';
import type { SandboxSettings } from './settings.ts';

/** A command line to start in place of a command. */
export interface SandboxedCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** Takes away what had to be put there. Call it when the command has ended. */
  release(): Promise<void>;
}

/** What a machine has that a sandbox is made of. */
export interface SandboxMeans {
  readonly program: string;
  readonly flock: string;
  readonly setpriv: string;
  readonly processLimit: 'cgroup' | 'rlimit' | 'none';
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
  const { program, flock, setpriv, processLimit } = means;
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
  const entrance = { setpriv, processId: process.pid, joinFile: group?.joinFile, maxFileBytes: settings.maxFileBytes };
  const [file = '', ...args] = entering(entrance, held);
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
