import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { systemProcesses } from './processes.ts';

describe('systemProcesses', () => {
  const self = systemProcesses.self();

  it('knows that this process lives', () => {
    expect(self.pid).toBe(process.pid);
    expect(systemProcesses.isGone(self)).toBe(false);
  });

  it('knows a process that ended', async () => {
    const child = spawn(process.execPath, ['-e', '0']);
    const pid = child.pid ?? 0;
    await once(child, 'exit');
    expect(systemProcesses.isGone({ ...self, pid, start: null })).toBe(true);
  });

  it.runIf(self.start !== null)('knows that an id was given to another process since', () => {
    expect(systemProcesses.isGone({ ...self, start: `${self.start}0` })).toBe(true);
    expect(systemProcesses.isGone({ ...self, start: null })).toBe(false);
  });

  it('claims to know nothing of other machines', () => {
    expect(systemProcesses.isGone({ pid: 2 ** 22 + 1, start: null, host: 'another' })).toBe(false);
  });
});
