import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
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

  it('is not found by others before it takes connections, nor after it is closed', async () => {
    const folder = newFolder();
    const found: string[][] = [];
    const { listen } = Server.prototype;
    vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...args: unknown[]) {
      const server = Reflect.apply(listen, this, args) as Server;
      // It is bound by now, and refuses connections.
      found.push(readdirSync(folder).filter((name) => name.endsWith('.sock')));
      return server;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const bus = await localBus({ folder });
    expect(found).toEqual([[]]);
    expect(readdirSync(folder)).toEqual([`${bus.id}.sock`]);
    await bus.close();
    expect(readdirSync(folder)).toEqual([]);
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
