import { TreadleError } from '@treadle/core';

/**
 * What sandboxed commands may change: `workspace-write`, the working folder; `read-only`, nothing; `off`, there is no
 * sandbox and commands may do what their user may.
 */
export type SandboxMode = 'off' | 'read-only' | 'workspace-write';

/** Settings of the sandbox that commands run in. Sizes are bytes. */
export interface SandboxOptions {
  /** Default `workspace-write`. */
  readonly mode?: SandboxMode;
  /**
   * True refuses commands where the sandbox doesn't work. False (the default) runs those that permissions allow without
   * it, as where there never was one: nothing is allowed because of a sandbox that isn't there.
   */
  readonly required?: boolean;
  /**
   * True when being in the sandbox is enough, so that nobody is asked for what a rule doesn't restrain. Default false: the
   * sandbox is a boundary, and what commands need approval for is another matter.
   */
  readonly sufficient?: boolean;
  /** `none` (the default): a network of its own, with nobody else in it. `host`: that of the machine. */
  readonly network?: 'none' | 'host';
  /** Names in the working folder that stay as they are, whether they exist or not. Default {@link protectedNames}. */
  readonly readOnlyNames?: readonly string[];
  /** Absolute paths of further folders that may be changed, such as a package manager's cache. They have to exist. */
  readonly writable?: readonly string[];
  /** Processes (and threads) at a time. Default 512; null for no limit. */
  readonly maxProcesses?: number | null;
  /** Of one file that a command writes. Default 2 GB. */
  readonly maxFileBytes?: number;
  /** Of the command's own `/tmp`, which lies in memory. Default 512 MB. */
  readonly temporaryBytes?: number;
}

/** The settings with every default filled in. */
export type SandboxSettings = Readonly<Required<SandboxOptions>>;

/**
 * What decides which programs run, now or later: git's hooks and settings, our own configuration, skills, MCP servers. Nobody but
 * the user changes these.
 */
export const protectedNames: readonly string[] = ['.git', '.treadle', '.claude', '.agents', '.mcp.json'];

const GB = 1024 ** 3;

/** @throws TreadleError `invalid_definition` for a setting that can't be. */
export function sandboxSettings(given: SandboxMode | SandboxOptions = {}): SandboxSettings {
  const options = typeof given === 'string' ? { mode: given } : given;
  const settings: SandboxSettings = {
    mode: options.mode ?? 'workspace-write',
    required: options.required ?? false,
    sufficient: options.sufficient ?? false,
    network: options.network ?? 'none',
    readOnlyNames: options.readOnlyNames ?? protectedNames,
    writable: options.writable ?? [],
    maxProcesses: options.maxProcesses === undefined ? 512 : options.maxProcesses,
    maxFileBytes: options.maxFileBytes ?? 2 * GB,
    temporaryBytes: options.temporaryBytes ?? GB / 2,
  };
  check(settings);
  return settings;
}

function check(settings: SandboxSettings): void {
  const refuse = (problem: string): never => {
    throw new TreadleError('invalid_definition', `The sandbox: ${problem}.`);
  };
  const { mode, network, maxProcesses, required } = settings;
  if (!['off', 'read-only', 'workspace-write'].includes(mode)) {
    refuse(`mode is "${mode}"; write "workspace-write", "read-only" or "off"`);
  }
  if (!['none', 'host'].includes(network)) refuse(`network is "${network}"; write "none" or "host"`);
  if (required && mode === 'off') refuse('it is required and off; choose one');
  const counts = {
    maxProcesses: maxProcesses ?? 1,
    maxFileBytes: settings.maxFileBytes,
    temporaryBytes: settings.temporaryBytes,
  };
  for (const [name, count] of Object.entries(counts)) {
    if (!Number.isSafeInteger(count) || count < 1) refuse(`${name} must be a whole number above 0`);
  }
  for (const name of settings.readOnlyNames) {
    if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) {
      refuse(`readOnlyNames has ${JSON.stringify(name)}; give names in the working folder, without "/"`);
    }
  }
  for (const path of settings.writable) {
    if (!path.startsWith('/') || path.includes('\0'))
      refuse(`writable has ${JSON.stringify(path)}; give absolute paths`);
  }
}
