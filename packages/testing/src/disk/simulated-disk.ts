import { chanceOf } from '../chance.ts';
import { diskError, type DiskCall } from './errors.ts';
import { folderView, type SimulatedFileSystem } from './file-system.ts';
import { loseUnsynced, newFolder } from './nodes.ts';

/** Calls that fail. */
export interface DiskFailure {
  readonly calls: readonly DiskCall[];
  /** Such as `ENOSPC`, `EIO` and `EROFS`. */
  readonly code: string;
  /** The first of them that fails, counted from now and from 1. Default 1. */
  readonly nth?: number;
  /** How many fail. Default: that one. `Infinity`: all from there on. */
  readonly times?: number;
}

/** Options of {@link simulatedDisk}. */
export interface SimulatedDiskOptions {
  /** What decides which unsynced changes a power failure keeps, and where they tear. Default 1. */
  readonly seed?: number;
}

/** A disk in memory, in a machine whose power can fail. */
export interface SimulatedDisk {
  /** The disk as processes since the last power failure see it: these functions of `node:fs/promises`. */
  readonly fileSystem: SimulatedFileSystem;
  /** All calls so far, in their order. */
  readonly calls: readonly DiskCall[];
  /** Makes calls fail, as a full disk does (`ENOSPC`), a broken one (`EIO`) or one that went read-only (`EROFS`). */
  fail(failure: DiskFailure): void;
  /** Lets all calls succeed again. */
  repair(): void;
  /**
   * The power fails now. What was synced is there afterwards; of all else, names of files included, any part. Calls of
   * processes from before it never come back.
   */
  cutPower(): void;
  /** The power fails at a call, counted from now and from 1: before or after its effect. Resolves when it has. */
  cutPowerAt(call: number, when: 'before' | 'after'): Promise<void>;
}

interface Failing extends DiskFailure {
  seen: number;
}

/**
 * A disk for tests of what survives a power failure, and of what happens when it is full or breaks. It keeps what was
 * synced (`datasync` or `sync` of a file, `sync` of the folder for names). When the power fails it keeps, drops, tears and
 * reorders all else. After a `datasync` that failed, some of the data is lost and the next one succeeds all the same, as
 * with Linux.
 *
 * @example
 * ```ts
 * import { simulatedDisk } from '@treadle/testing';
 *
 * const disk = simulatedDisk({ seed: 7 });
 * await disk.fileSystem.mkdir('/data', { mode: 0o700 });
 * disk.cutPower();
 * const isThere = (await disk.fileSystem.readdir('/')).includes('data'); // true or false: nobody has synced '/'
 * disk.fail({ calls: ['mkdir'], code: 'ENOSPC' });
 * await disk.fileSystem.mkdir('/more', { mode: 0o700 }).catch((error) => console.log(isThere, error.code)); // ENOSPC
 * ```
 */
export function simulatedDisk({ seed = 1 }: SimulatedDiskOptions = {}): SimulatedDisk {
  const chance = chanceOf(seed);
  const root = newFolder();
  const calls: DiskCall[] = [];
  let failures: Failing[] = [];
  let cut: { readonly call: number; readonly when: 'before' | 'after'; readonly done: () => void } | null = null;
  let boot = 0;

  function cutPower(): void {
    boot += 1;
    failures = [];
    loseUnsynced(root, chance);
    cut?.done();
    cut = null;
  }

  function failing(call: DiskCall): DiskFailure | undefined {
    return failures.find((failure) => {
      if (!failure.calls.includes(call)) return false;
      failure.seen += 1;
      const first = failure.nth ?? 1;
      return failure.seen >= first && failure.seen < first + (failure.times ?? 1);
    });
  }

  function fileSystemOf(own: number): SimulatedFileSystem {
    return folderView(root, async (call, path, act, fails) => {
      await Promise.resolve();
      if (own !== boot) return NEVER;
      calls.push(call);
      const isCut = cut !== null && calls.length === cut.call;
      if (isCut && cut?.when === 'before') cutPower();
      if (own !== boot) return NEVER;
      const failure = failing(call);
      if (failure) {
        fails?.(chance);
        throw diskError(failure.code, call, path);
      }
      const value = act();
      if (isCut) cutPower();
      return own === boot ? value : NEVER;
    });
  }

  let view = fileSystemOf(0);
  let viewed = 0;
  return {
    get fileSystem() {
      if (viewed !== boot) view = fileSystemOf((viewed = boot));
      return view;
    },
    calls,
    fail: (failure) => void failures.push({ ...failure, seen: 0 }),
    repair() {
      failures = [];
    },
    cutPower,
    cutPowerAt: (call, when) =>
      new Promise((done) => {
        cut = { call: calls.length + call, when, done };
      }),
  };
}

const NEVER = new Promise<never>(() => {});
