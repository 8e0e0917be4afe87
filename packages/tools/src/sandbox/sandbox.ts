import type { Clock } from '@treadle/core';
import { FileProblem } from '../root/problem.ts';
import type { SandboxParts } from './parts.ts';
import { probe } from './probe.ts';
import type { SandboxStatus } from './probe.ts';
import type { SandboxSettings } from './settings.ts';
import { wrapCommand } from './wrap.ts';
import type { SandboxedCommand } from './wrap.ts';

/** A sandbox for the commands of one working folder. */
export interface Sandbox {
  readonly settings: SandboxSettings;
  /** The answer of a probe that is made once for a process. */
  status(): Promise<SandboxStatus>;
  /** @throws FileProblem `sandbox` when the command can't be sandboxed. */
  wrap(command: readonly string[]): Promise<SandboxedCommand>;
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
