import { errorText } from '@treadle/core';
import { deploymentBaseUrl, DEPLOYMENTS, type Deployment } from '@treadle/models';
import { findExecutable, readProjectInstructions, sandboxStatus } from '@treadle/tools';

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { CliIo } from '../io.ts';
import { withUserVariables } from '../../settings/combine.ts';
import { keyReport } from '../asking/keys.ts';
import { homeFolder } from '../parts.ts';
import { version } from '../version.ts';

/** What a run finds on this machine. */
export type MachineReport = Awaited<ReturnType<typeof machineReport>>;

/** What there is for one deployment. Values of credentials are nowhere in it. */
export type DeploymentReport = ReturnType<typeof deploymentReport>;

type Environment = CliIo['env'];
type Credentials = 'present' | 'missing' | 'not_needed' | 'looked_up';

/** @param url a Postgres database that is to be asked, too */
export async function machineReport(io: CliIo, url?: string) {
  const find = async (name: string): Promise<string | null> =>
    (await findExecutable(name, io.env['PATH'], io.cwd)) ?? null;
  await io.hideEnvironment?.();
  // A run says what is wrong with the settings.
  const env = await withUserVariables(io).catch(() => io.env);
  const [sessions, database, bash, ripgrep, sandbox, project, keys] = await Promise.all([
    sessionFile(io),
    url === undefined ? null : databaseReport(url),
    find('bash'),
    find('rg'),
    sandboxStatus(),
    readProjectInstructions(io.cwd),
    keyReport(env),
  ]);
  return {
    version: version(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    sessions,
    /** Null when none is asked. */
    database,
    /** Absolute paths, null for what isn't there. */
    programs: { bash, ripgrep },
    /** Whether commands can be sandboxed: found out by running one. */
    sandbox,
    /** Which keys there are, and who shows them to commands without a sandbox. Values are nowhere in it. */
    keys,
    /** What a run in this folder would read, the nearest last, and what is wrong with it. */
    instructions: {
      files: project.files.map(({ path, bytes, truncated }) => ({ path, bytes, truncated })),
      warnings: project.warnings.map(({ message }) => message),
    },
    proxies: proxies(io.env),
    deployments: DEPLOYMENTS.map((row) => deploymentReport(row, env)),
  };
}

/** What servers can make of a database. */
async function databaseReport(url: string) {
  const { inspectPostgres } = await import('@treadle/store/postgres');
  try {
    return { ...(await inspectPostgres({ connection: url })), problem: null };
  } catch (error) {
    return { version: null, isPooled: null, problem: errorText(error) };
  }
}

/** Whether the file of sessions, or the nearest folder there is above it, can be written to. Nothing is created. */
async function sessionFile(
  io: CliIo,
): Promise<{ readonly path: string; readonly writable: boolean; readonly problem: string | null }> {
  const folder = homeFolder(io);
  const path = join(folder, 'sessions.db');
  try {
    const file = await stat(path).catch(unlessMissing);
    if (file && !file.isFile()) return { path, writable: false, problem: `${path} is not a file` };
    if (file) await access(path, constants.R_OK | constants.W_OK);
    let nearest = folder;
    let facts = await stat(nearest).catch(unlessMissing);
    while (!facts && nearest !== dirname(nearest)) {
      nearest = dirname(nearest);
      facts = await stat(nearest).catch(unlessMissing);
    }
    if (facts && !facts.isDirectory()) return { path, writable: false, problem: `${nearest} is not a folder` };
    await access(nearest, constants.W_OK | constants.X_OK);
    return { path, writable: true, problem: null };
  } catch (error) {
    return { path, writable: false, problem: errorText(error) };
  }
}

function unlessMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null;
  throw error;
}

/** Lowercase wins, as it does for requests. */
function proxies(env: Environment): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) {
    const value = env[name.toLowerCase()] ?? env[name];
    if (value) found[name] = name === 'NO_PROXY' ? value : (publicUrl(value) ?? '(not a URL)');
  }
  return found;
}

/** A URL without what may be secret in it: user name, password, and all of the query but a version. */
export function publicUrl(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.host === '') return null;
  const apiVersion = url.searchParams.get('api-version');
  url.search = apiVersion === null ? '' : `?api-version=${encodeURIComponent(apiVersion)}`;
  Object.assign(url, { username: '', password: '', hash: '' });
  return url.href.replace(/\/$/, '');
}

const setOne = (env: Environment, names: readonly string[]): string | null =>
  names.find((name) => env[name]?.trim()) ?? null;

/** Deployments whose cloud has a search of its own for credentials, in files and on the machine's own network. */
const LOOKED_UP: ReadonlySet<string> = new Set(['bedrock', 'vertex']);

function deploymentReport(row: Deployment, env: Environment) {
  const keyVariables = [...row.keyVariables, ...(row.credentialVariables ?? [])];
  const variable = setOne(env, keyVariables);
  const address = baseUrlOf(row, env);
  const credentials: Credentials = variable === null ? withoutVariable(row, env, address.baseUrl) : 'present';
  // The variable is the one that is set, for those present.
  return { name: row.name, protocol: row.protocol.name, keyVariables, credentials, variable, ...address };
}

/** `looked_up`: only the first request shows whether its cloud's own search finds any. */
function withoutVariable(row: Deployment, env: Environment, url: string | null): Credentials {
  if (LOOKED_UP.has(row.name)) return 'looked_up';
  const onThisMachine = url !== null && /^https?:\/\/(?:localhost|127\.|\[::1\])/.test(url);
  return onThisMachine || row.credentials?.(env) !== undefined ? 'not_needed' : 'missing';
}

/** Its address, without what may be secret in it; null when there is none that can be used. */
function baseUrlOf(row: Deployment, env: Environment) {
  try {
    return { baseUrl: publicUrl(deploymentBaseUrl(row, { env }).href), baseUrlProblem: null };
  } catch (error) {
    return { baseUrl: null, baseUrlProblem: errorText(error) };
  }
}
