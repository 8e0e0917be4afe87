import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { localBus } from './local-bus.ts';

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-bus-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('localBus', () => {
  it('refuses a folder that other users may read or write', async () => {
    const folder = newFolder();
    chmodSync(folder, 0o755);
    await expect(localBus({ folder })).rejects.toMatchObject({
      code: 'journal_failed',
      message: expect.stringContaining('chmod 700') as string,
    });
    chmodSync(folder, 0o700);
    await (await localBus({ folder })).close();
  });

  // Only root can make such a folder.
  it.skipIf(process.getuid?.() !== 0)('refuses a folder of another user', async () => {
    const folder = newFolder();
    chownSync(folder, 12_345, 12_345);
    await expect(localBus({ folder })).rejects.toMatchObject({
      code: 'journal_failed',
      message: expect.stringContaining('another user') as string,
    });
  });
});
