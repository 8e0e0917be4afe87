import { getuid } from 'node:process';
import { runCommand, type CommandRequest } from '../bash/command.ts';
import { findExecutable } from '../bash/find-executable.ts';
import { makeProcessGroup, type ProcessGroup } from './process-limit.ts';

/** A program that is run on the way to a sandbox. */
export interface HelperCommand extends Pick<
  CommandRequest,
  'file' | 'args' | 'folder' | 'handed' | 'timeoutMs' | 'clock'
> {
  /** Its whole environment. Default: a `PATH` of the system's programs. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** How a helper process of the sandbox ended. */
export interface HelperEnd {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

/** What a sandbox needs of the machine. A test brings its own. */
export interface SandboxParts {
  readonly platform: string;
  /** Whether this is the system's administrator, whom limits on the number of processes of a user don't bind. */
  readonly isAdministrator: boolean;
  /** The absolute path of a program of the system. */
  readonly find: (name: string) => Promise<string | undefined>;
  readonly makeProcessGroup: (limit: number) => Promise<ProcessGroup | undefined>;
  /** Runs a program to its end. Rejects when it can't be started. */
  readonly run: (command: HelperCommand) => Promise<HelperEnd>;
}

/** Only where the system keeps its programs: no variable and no working folder decides what the sandbox is. */
const systemPath = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin';
const keptBytes = 4096;

export const machineParts: SandboxParts = {
  platform: process.platform,
  isAdministrator: getuid?.() === 0,
  find: (name) => findExecutable(name, systemPath, '/nonexistent'),
  makeProcessGroup,
  async run({ environment = { PATH: systemPath, LC_ALL: 'C' }, ...command }) {
    const texts = { stdout: '', stderr: '' };
    const end = await runCommand({
      ...command,
      environment,
      graceMs: 0,
      signal: new AbortController().signal,
      onOutput(stream, bytes) {
        texts[stream] = (texts[stream] + bytes.toString('utf8')).slice(0, keptBytes);
      },
    });
    return { exitCode: end.exitCode, output: texts.stdout, errors: texts.stderr };
  },
};
