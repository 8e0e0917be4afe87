import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, parseJson } from '@treadle/core/json';
import type { JsonObject } from '@treadle/core';

/** What one authorization server gave us for one MCP server. Kept as the SDK wrote it. */
export interface Credentials {
  readonly client?: JsonObject;
  readonly tokens?: JsonObject;
}

/** Keeps credentials. Those of one authorization server are never shown to another one. */
export interface CredentialStore {
  /** Without an issuer: those that were saved last. */
  read(serverUrl: string, issuer?: string): Promise<Credentials>;
  write(serverUrl: string, issuer: string, change: Credentials): Promise<void>;
  /** Forgets the tokens, or all there is. */
  forget(serverUrl: string, what: 'tokens' | 'all'): Promise<void>;
}

interface Kept {
  readonly latest: string | null;
  readonly issuers: Readonly<Record<string, Credentials>>;
}

const NOTHING: Kept = { latest: null, issuers: {} };

/** Credentials in files that only their owner can read: one for each server's address, and in it one part per issuer. */
export function fileCredentials(folder: string): CredentialStore {
  const pathOf = (serverUrl: string): string =>
    join(folder, `${createHash('sha256').update(new URL(serverUrl).href).digest('hex').slice(0, 32)}.json`);

  async function readAll(serverUrl: string): Promise<Kept> {
    let text: string;
    try {
      text = await readFile(pathOf(serverUrl), 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return NOTHING;
      throw error;
    }
    // A file that was cut off holds nothing that could be used.
    const kept = parsed(text);
    if (!isJsonObject(kept) || !isJsonObject(kept['issuers'])) return NOTHING;
    return kept as unknown as Kept;
  }

  async function writeAll(serverUrl: string, kept: Kept): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = pathOf(serverUrl);
    const fresh = `${path}.${process.pid}.tmp`;
    await writeFile(fresh, JSON.stringify({ serverUrl, ...kept }), { mode: 0o600 });
    // A file that was left behind keeps its mode when it is written again.
    await chmod(fresh, 0o600);
    await rename(fresh, path);
  }

  return {
    async read(serverUrl, issuer) {
      const { latest, issuers } = await readAll(serverUrl);
      const key = issuer ?? latest;
      return key !== null && Object.hasOwn(issuers, key) ? (issuers[key] ?? {}) : {};
    },
    async write(serverUrl, issuer, change) {
      const { issuers } = await readAll(serverUrl);
      const own = Object.hasOwn(issuers, issuer) ? issuers[issuer] : {};
      const changed = Object.fromEntries([...Object.entries(issuers), [issuer, { ...own, ...change }]]);
      await writeAll(serverUrl, { latest: issuer, issuers: changed });
    },
    async forget(serverUrl, what) {
      if (what === 'all') return rm(pathOf(serverUrl), { force: true });
      const { latest, issuers } = await readAll(serverUrl);
      const kept = Object.entries(issuers).map(([issuer, { client }]) => [issuer, client ? { client } : {}]);
      return writeAll(serverUrl, { latest, issuers: Object.fromEntries(kept) as Kept['issuers'] });
    },
  };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}
