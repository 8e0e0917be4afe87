// @module-tag slow

import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { TreeOutcome, TreeTask } from '../test-support/tree-process.ts';
import { workspace } from '../test-support/workspace.ts';

/** How many processes have `mark` in their command line. */
function running(mark: string): number {
  const { stdout } = spawnSync('ps', ['-eo', 'stat=,args='], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes(mark) && !/^\s*Z/.test(line)).length;
}

describe('a tree of agents whose commands are running', () => {
  it('R2: is gone with all of its processes and timers when the agent at the top is cancelled', async () => {
    const { root } = await workspace();
    // A duration that no other process sleeps for.
    const sleep = `sleep 600.${process.pid}7`;
    const commands = [
      `echo x >> begun; ${sleep}`,
      `echo x >> begun; ${sleep} & ${sleep} & wait`,
      `trap '' TERM INT HUP; echo x >> begun; while :; do ${sleep}; done`,
      `setsid ${sleep} & echo x >> begun; wait`,
    ];
    const program = new URL('../test-support/tree-process.ts', import.meta.url);
    const child = fork(program, {
      execArgv: ['--conditions=treadle-source'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
    try {
      child.send({ root, commands } satisfies TreeTask);
      await once(child, 'message');
      expect(running(sleep)).toBeGreaterThanOrEqual(commands.length + 1);
      child.send('cancel');
      const [outcome] = (await once(child, 'message')) as [TreeOutcome];
      expect(outcome).toEqual({ status: 'aborted', ends: Array.from({ length: 6 }, () => 'aborted') });
      // It ends by itself: no timer of it is left, half a second after the last command that wouldn't end was killed.
      expect(await exited).toEqual([0, null]);
      expect(running(sleep)).toBe(0);
    } finally {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      for (const line of spawnSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).stdout.split('\n')) {
        if (line.includes(sleep)) process.kill(Number.parseInt(line, 10), 'SIGKILL');
      }
    }
  }, 60_000);
});
