import type { Blobs, Journal, Model } from '@treadle/core';

import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';

import type { CliIo } from './io.ts';
import { suggestion, UsageError } from './usage-error.ts';

/** Where the command line gets its big parts. A test may bring its own. */
export interface CliParts {
  /** @throws TreadleError `invalid_definition` for a name that can't be used. */
  readonly model: (name: string, env: CliIo['env']) => Promise<Model>;
  readonly journal: (io: CliIo) => Promise<Journal>;
}

/** The parts of the real command line. They are loaded on use: `--help` needs none of them. */
export const DEFAULT_PARTS: CliParts = { model: loadModel, journal: openJournal };

async function loadModel(name: string, env: CliIo['env']): Promise<Model> {
  if (name === 'demo' || name.startsWith('demo/')) {
    const { demoModel } = await import('../demo/index.ts');
    const model = demoModel();
    const known = `${model.provider}/${model.id}`;
    if (name === 'demo' || name === known) return model;
    throw new UsageError(`There is no model ${name}. The demo model is ${known}, or just demo.`);
  }
  const { DEPLOYMENTS, resolveModel } = await import('@treadle/models');
  const [provider = ''] = name.split('/');
  const providers = [...DEPLOYMENTS.map((row) => row.name), 'demo'];
  if (!providers.includes(provider)) {
    throw new UsageError(
      `No provider is called '${provider}'.${suggestion(provider, providers)} ` +
        `A model's name is provider/model, with one of these providers: ${providers.join(', ')}.`,
    );
  }
  const { ownCatalogue } = await import('../settings/catalogue.ts');
  const own = await ownCatalogue({ env, cwd: process.cwd() });
  return resolveModel(name, { env, ...(own && { catalogue: own.rows }) });
}

/** The folder of what the command line keeps: `TREADLE_HOME`, else `.treadle` in the home folder. */
export function homeFolder({ env, cwd }: CliIo): string {
  const { TREADLE_HOME: own, HOME: home } = env;
  if (own) return resolve(cwd, own);
  return join(home ? resolve(cwd, home) : userInfo().homedir, '.treadle');
}

async function openJournal(io: CliIo): Promise<Journal> {
  const folder = homeFolder(io);
  await makeFolder(folder);
  const { sqliteJournal } = await import('@treadle/store');
  return sqliteJournal({ path: join(folder, 'sessions.db') });
}

/**
 * Makes a folder and those above it, one by one: Node's own recursive way never ends where the system answers `ENOENT` for
 * a folder that it doesn't let anyone make, as in `/proc`.
 */
async function makeFolder(folder: string): Promise<void> {
  const missing: string[] = [];
  for (let path = folder; path !== dirname(path) && !existsSync(path); path = dirname(path)) missing.unshift(path);
  for (const path of missing) {
    await mkdir(path, { mode: 0o700 }).catch(async (error: unknown) => {
      // Another process may have made it meanwhile.
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
      const { errorText, TreadleError } = await import('@treadle/core');
      throw new TreadleError(
        'journal_failed',
        `Sessions can't be kept in ${folder}: ${errorText(error)}. TREADLE_HOME names another folder; --no-save keeps none.`,
        { cause: error },
      );
    });
  }
}

/** What is too big for a log, beside the sessions. */
export async function openBlobs(io: CliIo): Promise<Blobs> {
  const { fileBlobs } = await import('@treadle/store');
  return fileBlobs({ folder: join(homeFolder(io), 'blobs') });
}

/** A journal that forgets when the process ends. */
export async function unsavedJournal(): Promise<Journal> {
  const { memoryJournal } = await import('@treadle/core');
  return memoryJournal();
}
