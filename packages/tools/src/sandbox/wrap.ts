import { errorText, type Clock } from '@treadle/core';
import { FileProblem } from '../root/problem.ts';
import { confinedArguments, entering, sandboxArguments, type CommonPlan } from './arguments.ts';
import type { SandboxParts } from './parts.ts';
import type { ProcessGroup } from './process-limit.ts';
import { clearingPlaceholders, protectionsOf, withPlaceholders } from './protect.ts';
import type { SandboxSettings } from './settings.ts';
import { namesIn, viewEnvironment } from './view.ts';

/** A command line to start in place of a command. */
export interface SandboxedCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** What it reads from the descriptors 4, 5 and so on. */
  readonly handed: readonly Uint8Array[];
  /** Takes away what had to be put there. Call it when the command has ended. */
  release(): Promise<void>;
}

/** What a machine has that a sandbox is made of. */
export interface SandboxMeans {
  readonly program: string;
  readonly flock: string;
  readonly setpriv: string;
  readonly processLimit: 'cgroup' | 'rlimit' | 'none';
  /** Keeps files from getting rights of their own; `reading` also keeps sockets from being made. */
  readonly filters: { readonly writing: Uint8Array; readonly reading: Uint8Array };
}

/** A command that runs where it may only read. */
export interface ConfinedCommand extends SandboxedCommand {
  /** Its whole environment. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface WrapOptions {
  readonly root: string;
  readonly settings: SandboxSettings;
  readonly means: SandboxMeans;
  readonly parts: SandboxParts;
  readonly clock: Clock;
}

const clearTimeoutMs = 10_000;

/** A command line that runs `command` where it may change the working folder, if the settings say so, and nothing else. */
export async function wrapCommand(command: readonly string[], options: WrapOptions): Promise<SandboxedCommand> {
  const { root, settings, means, parts, clock } = options;
  const { flock, filters } = means;
  const protections = settings.mode === 'workspace-write' ? await protectionsOf(root, settings.readOnlyNames) : [];
  const placeholders = protections.filter((one) => one.needsPlaceholder);
  const limits = await limitsFor(options);
  const sandboxed = sandboxArguments({ ...planOf(command, options, limits), root, settings, protections });
  const held = placeholders.length === 0 ? sandboxed : withPlaceholders(flock, root, placeholders, sandboxed);
  return {
    ...entered(held, options, limits),
    handed: [filters.writing],
    async release() {
      await limits.group?.remove();
      if (placeholders.length === 0) return;
      const [clearing = '', ...rest] = clearingPlaceholders(flock, root, placeholders);
      await parts.run({ file: clearing, args: rest, folder: '/', timeoutMs: clearTimeoutMs, clock });
    },
  };
}

/**
 * A command line that runs `command` where it sees the working folder, the system's programs and `paths`, and can change and
 * reach nothing.
 */
export async function confineCommand(
  command: readonly string[],
  options: WrapOptions,
  paths: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ConfinedCommand> {
  const { root, settings, means } = options;
  const { temporaryBytes } = settings;
  const limits = await limitsFor(options);
  const confined = confinedArguments({ ...planOf(command, options, limits), view: { root, paths }, temporaryBytes });
  return {
    ...entered(confined, options, limits),
    environment: viewEnvironment(environment),
    handed: [means.filters.reading, namesIn('/etc/passwd'), namesIn('/etc/group')],
    release: async () => limits.group?.remove(),
  };
}

interface Limits {
  readonly group: ProcessGroup | undefined;
  /** Set from within, for those whom such a limit binds. */
  readonly processes: number | undefined;
}

async function limitsFor({ settings, means, parts }: WrapOptions): Promise<Limits> {
  const { maxProcesses } = settings;
  if (maxProcesses === null) return { group: undefined, processes: undefined };
  const { processLimit } = means;
  return {
    group: processLimit === 'cgroup' ? await requiredGroup(parts, maxProcesses) : undefined,
    processes: processLimit === 'rlimit' ? maxProcesses : undefined,
  };
}

const planOf = (command: readonly string[], { means, parts }: WrapOptions, limits: Limits): CommonPlan => ({
  program: means.program,
  isAdministrator: parts.isAdministrator,
  processLimit: limits.processes,
  command,
});

function entered(
  command: readonly string[],
  { means: { setpriv }, settings: { maxFileBytes } }: WrapOptions,
  { group }: Limits,
): Pick<SandboxedCommand, 'file' | 'args'> {
  const entrance = { setpriv, processId: process.pid, joinFile: group?.joinFile, maxFileBytes };
  const [file = '', ...args] = entering(entrance, command);
  return { file, args };
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
