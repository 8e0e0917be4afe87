import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, parseJson } from '@treadle/core/json';

import type { McpServerConfig } from './config.ts';
import type { KeptServer } from './connection.ts';

/** Keeps what is known of servers. The key names a server with all of its configuration. */
export interface McpCache {
  get(key: string): Promise<KeptServer | null>;
  set(key: string, kept: KeptServer): Promise<void>;
}

/** A hash, for a configuration may hold secrets. Another configuration may be another server. */
export const cacheKey = (name: string, config: McpServerConfig): string =>
  createHash('sha256')
    .update(JSON.stringify([name, 'server' in config ? 'here' : config]))
    .digest('hex')
    .slice(0, 32);

/** A cache of small files in a folder. What can't be read counts as not there. */
export function fileCache(folder: string): McpCache {
  const fileOf = (key: string): string => join(folder, `${key}.json`);
  return {
    async get(key) {
      try {
        const kept: unknown = parseJson(await readFile(fileOf(key), 'utf8'));
        return isKept(kept) ? kept : null;
      } catch {
        return null;
      }
    },
    async set(key, kept) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = fileOf(key);
      const fresh = `${path}.${process.pid}`;
      await writeFile(fresh, JSON.stringify(kept), { mode: 0o600 });
      await rename(fresh, path);
    },
  };
}

const isKept = (value: unknown): value is KeptServer => {
  if (!isJsonObject(value)) return false;
  const { tools, hasResources } = value;
  const named = (tool: unknown): boolean => isJsonObject(tool) && typeof tool['name'] === 'string';
  return Array.isArray(tools) && tools.every(named) && typeof hasResources === 'boolean';
};
