import { defineTool, systemClock, type Tool } from '@treadle/core';
import { commandAccess } from './bash/allow/command-access.ts';
import { bash, type BashLimits, type BashSettings } from './bash/bash.ts';
import { defaultDenyPatterns } from './bash/deny.ts';
import { commandVariables, withoutSecrets } from './bash/environment.ts';
import { findExecutable } from './bash/find-executable.ts';
import { KB, MB, type CommonToolOptions } from './options.ts';
import { asRoot, type Root } from './root/root.ts';
import { machineParts, type SandboxParts } from './sandbox/parts.ts';
import { openSandbox } from './sandbox/sandbox.ts';
import { sandboxSettings, type SandboxMode, type SandboxOptions } from './sandbox/settings.ts';

/** Settings of {@link bashTool}. Times are milliseconds, sizes bytes. */
export interface BashToolOptions extends CommonToolOptions, BashLimits {
  /**
   * The whole environment of commands. Default: this process's, without the variables that look like secrets
   * ({@link withoutSecrets}), and with pagers, prompts and colours turned off.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** The absolute path of the shell, called with `-c`. Default: bash, else sh, from `PATH`. */
  readonly shell?: string;
  /**
   * What commands are run in: a mode, or all of its settings. Default `workspace-write`, where the machine can: see
   * {@link SandboxOptions}.
   */
  readonly sandbox?: SandboxMode | SandboxOptions;
  /** What the sandbox is made of; that of this machine when absent. */
  readonly sandboxParts?: SandboxParts;
  /** `sequential` (the default) keeps a command from overlapping the other calls of its turn. */
  readonly execution?: 'parallel' | 'sequential';
}

/**
 * The tool `bash`: runs a shell command in the root folder, standard input closed, and ends every process it started.
 *
 * Where bubblewrap works, commands run in a sandbox: they may change the root folder, and nothing else. A command that only
 * reads may run unasked, in a sandbox where it can only read. Where bubblewrap doesn't work, or with `sandbox: 'off'`, the
 * root is where commands start, not a wall around them, and every command asks. In the background a command has no
 * timeout unless the call says so. Result `details`: `{ exitCode, signal,
 * timedOut, durationMs, stdoutBytes, stderrBytes, spillFiles, outputLimitReached, sandboxed }`.
 *
 * @throws TreadleError `invalid_definition` when the root is not a folder.
 */
export function bashTool(options: BashToolOptions): Tool {
  const root = asRoot(options.root, options);
  const environment = options.env ?? { ...withoutSecrets(process.env), ...commandVariables };
  const clock = options.clock ?? systemClock;
  const isolation = sandboxSettings(options.sandbox);
  const sandbox =
    isolation.mode === 'off'
      ? undefined
      : openSandbox(root.path, isolation, options.sandboxParts ?? machineParts, clock);
  const settings: BashSettings = {
    root,
    timeoutMs: options.timeoutMs ?? 120_000,
    maxTimeoutMs: Math.max(options.maxTimeoutMs ?? 600_000, options.timeoutMs ?? 0),
    graceMs: options.graceMs ?? 500,
    keepBytes: options.keepBytes ?? 256 * KB,
    maxOutputBytes: options.maxOutputBytes ?? 50 * MB,
    spillFolder: root.relative(options.spillFolder ?? '.treadle/output'),
    denyPatterns: options.denyPatterns ?? defaultDenyPatterns,
    environment,
    shell: shellFinder(options.shell, environment['PATH'], root),
    clock,
    sandbox,
  };
  return defineTool({
    name: 'bash',
    label: 'Run a command',
    description:
      'Runs a shell command in the root folder and returns its exit code, stdout and stderr. Standard input is closed, ' +
      'and each call is a new shell: cd and variables do not last. Background processes end with the command. ' +
      `Stopped after ${settings.timeoutMs / 1000} s unless timeout_ms says otherwise (at most ${settings.maxTimeoutMs}). ` +
      'Long output is shortened, and the rest is in a file that read_file can read.',
    inputSchema: {
      type: 'object',
      properties: {
        command: { type: 'string', description: 'The command, as typed into bash.' },
        timeout_ms: { type: 'integer', minimum: 1, description: 'Milliseconds after which it is killed.' },
      },
      required: ['command'],
      additionalProperties: false,
    },
    replay: 'never',
    readOnly: false,
    background: true,
    execution: options.execution ?? 'sequential',
    async access({ command }) {
      const { commands, readOnly, paths } = await commandAccess(command, { root: root.path, environment });
      const status = await sandbox?.status();
      const contained = isolation.sufficient && status?.works === true;
      const facts = { folder: root.path, commands, paths, ...(contained && { contained }) };
      if (!readOnly) return { ...facts, readOnly };
      const { works, reason } = status?.reading ?? { works: false, reason: 'the sandbox is switched off' };
      if (works) return { ...facts, readOnly, confined: true };
      return { ...facts, readOnly: false, reason: `${unconfined}, and ${reason}. ${remedy}` };
    },
    execute: (args, context) => bash(args, context, settings),
  });
}

const unconfined = 'commands that only read run unasked in a sandbox';
const remedy = 'Without one, allow them by a rule (--allow bash)';

/** Looks for the shell once, when it is first needed. */
function shellFinder(given: string | undefined, searchPath: string | undefined, root: Root): () => Promise<string> {
  let found: Promise<string> | undefined;
  const find = async (): Promise<string> => {
    const path = searchPath ?? '/usr/local/bin:/usr/bin:/bin';
    const shell =
      given ?? (await findExecutable('bash', path, root.path)) ?? (await findExecutable('sh', path, root.path));
    if (shell === undefined) throw new Error('there is neither bash nor sh on PATH');
    return shell;
  };
  return () => (found ??= find());
}
