import { systemClock } from '@treadle/core';
import { machineParts } from './parts.ts';
import { probe, type SandboxStatus } from './probe.ts';
import { sandboxSettings, type SandboxOptions } from './settings.ts';

/**
 * Whether `bash` can sandbox its commands on this machine. It finds out by running one, once for a process.
 *
 * @example
 * ```ts
 * import { sandboxStatus } from '@treadle/tools';
 *
 * const { works, reason } = await sandboxStatus();
 * console.log(works ? 'Commands are sandboxed.' : `Commands are not sandboxed: ${reason}.`);
 * ```
 */
export async function sandboxStatus(options: SandboxOptions = {}): Promise<SandboxStatus> {
  return (await probe(sandboxSettings(options), machineParts, systemClock)).status;
}
