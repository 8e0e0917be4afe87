import type { Stats } from 'node:fs';
import { lstat, mkdir, readlink } from 'node:fs/promises';
import { namesOf, relativeToRoots } from './components.ts';
import { openDirectory, type Directory, type Holding } from './directory.ts';
import { FileProblem, unless } from './problem.ts';

/** Where a path ended: a name in an open directory, or (without a name) that directory itself. */
export interface Location {
  readonly directory: Directory;
  readonly name: string | undefined;
  /** What is there, never a symbolic link; undefined when nothing is. */
  readonly stats: Stats | undefined;
  /** The real path, relative to the root, with `/`; `.` for the root. */
  readonly real: string;
  close(): Promise<void>;
}

export interface LocateOptions {
  /** The root's real path. */
  readonly root: string;
  /** Absolute prefixes that mean the root. */
  readonly roots: readonly string[];
  readonly holding: Holding;
  /** Makes missing directories on the way. */
  readonly createParents?: boolean;
}

/** As many symbolic links as Linux itself follows in one path. */
const linkLimit = 40;

interface Step {
  readonly name: string;
  readonly directory: Directory;
}

/**
 * Walks from the root to `components`, one name at a time, following symbolic links by hand. A link that leaves the
 * root, by an absolute target or by more `..` than there are parents, is refused. No name is ever handed to the kernel
 * for it to follow, so what is swapped between check and use changes the outcome but never the confinement.
 */
export async function locate(components: readonly string[], options: LocateOptions): Promise<Location> {
  const rootDirectory = await openDirectory(options.root, options.holding);
  const steps: Step[] = [];
  const shown = components.join('/') || '.';
  const close = async (): Promise<void> => {
    await closeSteps(steps, 0);
    await rootDirectory.close();
  };
  const here = (): Directory => steps.at(-1)?.directory ?? rootDirectory;
  const realNames = (): string[] => steps.map((step) => step.name);
  try {
    const pending = components.toReversed();
    let links = 0;
    const countLink = (): void => {
      links += 1;
      if (links > linkLimit) throw new FileProblem('bad_path', `${shown} goes through too many symbolic links.`);
    };
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      if (name === '..') {
        if (steps.length === 0) throw leaves(shown);
        await closeSteps(steps, steps.length - 1);
        continue;
      }
      const stats = await unless(lstat(here().at(name)), 'ENOENT');
      if (stats?.isSymbolicLink() === true) {
        countLink();
        // It was a link a moment ago: if it is none now, look again.
        const target = await unless(readlink(here().at(name)), 'EINVAL', 'ENOENT');
        if (target === undefined) {
          pending.push(name);
        } else if (target.startsWith('/')) {
          const relative = relativeToRoots(target, options.roots);
          if (relative === undefined) throw leaves(shown);
          await closeSteps(steps, 0);
          pending.push(...namesOf(relative).toReversed());
        } else {
          pending.push(...namesOf(target).toReversed());
        }
        continue;
      }
      if (pending.length === 0) {
        return { directory: here(), name, stats, real: [...realNames(), name].join('/'), close };
      }
      if (stats === undefined) {
        if (options.createParents !== true) throw missing(shown, [...realNames(), name].join('/'));
        await unless(mkdir(here().at(name)), 'EEXIST');
      } else if (!stats.isDirectory()) {
        throw new FileProblem('not_directory', `${[...realNames(), name].join('/')} is not a directory.`);
      }
      // Undefined when it was swapped for something else.
      const entered = await unless(here().enter(name), 'ELOOP', 'ENOTDIR', 'ENOENT');
      if (entered === undefined) {
        countLink();
        pending.push(name);
      } else {
        steps.push({ name, directory: entered });
      }
    }
    return {
      directory: here(),
      name: undefined,
      stats: await lstat(`${here().self}/.`),
      real: realNames().join('/') || '.',
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function closeSteps(steps: Step[], keep: number): Promise<void> {
  for (const step of steps.splice(keep)) await step.directory.close();
}

const leaves = (shown: string): FileProblem =>
  new FileProblem('outside_root', `${shown} leads outside the root folder through a symbolic link.`);

const missing = (shown: string, folder: string): FileProblem =>
  new FileProblem('not_found', `${shown} does not exist: there is no folder ${folder}.`);
