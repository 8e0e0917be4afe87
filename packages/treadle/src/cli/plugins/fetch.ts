import { errorText } from '@treadle/core';
import { pluginDigest } from '@treadle/skills';

import { execFile } from 'node:child_process';
import { cp, lstat, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';

import type { CliIo } from '../io.ts';
import { UsageError } from '../usage-error.ts';
import { pluginsFolder } from './store.ts';

/** A copy of a plugin's folder that nobody has looked at yet. */
export interface FetchedPlugin {
  readonly source: string;
  readonly commit: string | null;
  /** The copy, without links and without `.git`. */
  readonly folder: string;
  /** Removes the copy, unless it was kept. */
  discard(): Promise<void>;
  /** Moves the copy to its place below the folder of plugins. */
  keep(name: string): Promise<void>;
}

const GIT_TIMEOUT_MS = 300_000;
/** What git needs of the environment: nothing of it is a key of a model. */
const GIT_VARIABLES =
  /^(?:PATH|HOME|USER|LANG|LC_\w+|TMPDIR|XDG_CONFIG_HOME|SSH_\w+|GIT_SSH\w*|(?:https?|no|all)_proxy)$/i;
// Nothing that comes along with a repository runs while it is fetched.
const SAFE = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.symlinks=false', 'protocol.ext.allow=never'];

const isAddress = (source: string): boolean => /^(?:https?|ssh|git|file):\/\/|^[\w.-]+@[\w.-]+:/.test(source);

/**
 * Copies a plugin's folder, or fetches it by git: `https://host/repository.git`, with `#branch`, `#tag` or `#commit`. Runs
 * nothing of it.
 *
 * @param below the plugin's folder inside the source
 * @throws UsageError when it isn't there, is too large, or git fails.
 */
export async function fetchPlugin(source: string, below: string, io: CliIo): Promise<FetchedPlugin> {
  const home = pluginsFolder(io);
  await mkdir(home, { recursive: true, mode: 0o700 });
  const staging = await mkdtemp(join(home, '.new-'));
  const discard = (): Promise<void> => rm(staging, { recursive: true, force: true });
  try {
    const isGit = isAddress(source);
    const fetched = join(staging, 'fetched');
    const commit = isGit ? await cloned(source, fetched, io) : null;
    const root = isGit ? fetched : resolve(io.cwd, source);
    const from = resolve(root, below);
    if (from !== root && !from.startsWith(root + sep)) throw new UsageError(`--path ${below} leads out of ${source}.`);
    if (!(await stat(from).catch(() => null))?.isDirectory()) throw new UsageError(`There is no folder ${from}.`);
    // Says what is too large before it is copied.
    await pluginDigest(from).catch((error: unknown) => {
      throw new UsageError(errorText(error));
    });
    // Without a manifest a plugin has the name of its folder.
    const copied = join(staging, 'copy', from === fetched ? repositoryName(source) : basename(from));
    await cp(from, copied, {
      recursive: true,
      filter: async (path) => {
        const stats = await lstat(path);
        return (stats.isFile() || stats.isDirectory()) && basename(path) !== '.git';
      },
    });
    const named = { source: isGit ? withoutLogin(source) : root, commit, folder: copied };
    const keep = async (name: string): Promise<void> => {
      const place = join(home, name);
      await rm(place, { recursive: true, force: true });
      await rename(copied, place);
      await discard();
    };
    return { ...named, discard, keep };
  } catch (error) {
    await discard();
    throw error;
  }
}

const repositoryName = (source: string): string => basename(source.replace(/#.*$/, ''), '.git');

/** What is recorded and shown has no password in it. */
const withoutLogin = (source: string): string => source.replace(/^(https?:\/\/)[^/@]*@/, '$1');

/** Fetches one commit of a repository, and gives its name. */
async function cloned(source: string, folder: string, io: CliIo): Promise<string> {
  const [address = '', reference = 'HEAD'] = source.split('#', 2);
  if (reference.startsWith('-')) throw new UsageError(`${source} names no branch, tag or commit.`);
  await mkdir(folder);
  const git = (...args: readonly string[]): Promise<string> => runGit(args, folder, io);
  await git('init', '--quiet');
  await git('fetch', '--quiet', '--depth', '1', '--no-tags', '--', address, reference);
  await git('checkout', '--quiet', 'FETCH_HEAD');
  return (await git('rev-parse', 'HEAD')).trim();
}

function runGit(args: readonly string[], cwd: string, io: CliIo): Promise<string> {
  const env = Object.fromEntries(Object.entries(io.env).filter(([name]) => GIT_VARIABLES.test(name)));
  const options = { cwd, env: { ...env, GIT_TERMINAL_PROMPT: '0', GIT_LFS_SKIP_SMUDGE: '1' }, timeout: GIT_TIMEOUT_MS };
  return new Promise((done, reject) => {
    execFile('git', [...SAFE.flatMap((setting) => ['-c', setting]), ...args], options, (error, stdout, stderr) => {
      if (!error) return done(stdout);
      const why = error.code === 'ENOENT' ? 'git is not installed' : stderr.trim() || error.message;
      reject(new UsageError(`git ${args[0] ?? ''} failed: ${why}`));
    });
  });
}
