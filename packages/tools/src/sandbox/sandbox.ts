import type { Clock } from '@treadle/core';
import { FileProblem } from '../root/problem.ts';
import type { SandboxParts } from './parts.ts';
import { probe, unavailable, type Probed, type SandboxStatus } from './probe.ts';
import type { SandboxSettings } from './settings.ts';
import { isSystemPath } from './view.ts';
import { confineCommand, wrapCommand, type ConfinedCommand, type SandboxedCommand, type WrapOptions } from './wrap.ts';

/** A sandbox for the commands of one working folder. */
export interface Sandbox {
  readonly settings: SandboxSettings;
  /** The answer of a probe that is made once for a process. */
  status(): Promise<SandboxStatus>;
  /** @throws FileProblem `sandbox` when the command can't be sandboxed. */
  wrap(command: readonly string[]): Promise<SandboxedCommand>;
  /**
   * The command where it may only read: the working folder, the system's programs and `paths`. A shell from elsewhere,
   * which isn't there, is replaced by the system's bash.
   *
   * @throws FileProblem `sandbox` when the command can't be confined.
   */
  confine(
    command: readonly string[],
    paths: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<ConfinedCommand>;
}

/** Makes a sandbox for a folder, by its real path. */
export function openSandbox(root: string, settings: SandboxSettings, parts: SandboxParts, clock: Clock): Sandbox {
  const found = async (): Promise<Probed> => {
    if (root === '/') return unavailable('the working folder is the whole file system: nothing is left to protect');
    return probe(settings, parts, clock);
  };
  const options = async (): Promise<WrapOptions> => {
    const { means, status } = await found();
    if (means === undefined || !status.works)
      throw new FileProblem('sandbox', `There is no sandbox: ${status.reason}.`);
    return { root, settings, means, parts, clock };
  };
  return {
    settings,
    status: async () => (await found()).status,
    wrap: async (command) => wrapCommand(command, await options()),
    async confine([shell = '', ...rest], paths, environment) {
      const shown = isSystemPath(shell) ? shell : ((await parts.find('bash')) ?? shell);
      return confineCommand([shown, ...rest], await options(), paths, environment);
    },
  };
}
