import { isJsonObject, parseJson } from '@treadle/core/json';

import { join } from 'node:path';

import { configFolder, readSettingsFile } from '../../settings/settings.ts';
import { alone, writeWhole } from '../../settings/trust.ts';
import type { CliIo } from '../io.ts';
import { UsageError } from '../usage-error.ts';

/** Which servers of a folder's `.mcp.json` may start, by the digests of what they run or reach. */
export interface Approvals {
  has(server: string, digest: string): boolean;
  /** Records them, beside those there are. @throws UsageError where nothing can be recorded. */
  add(servers: readonly { readonly name: string; readonly digest: string }[]): Promise<void>;
}

const FILE = 'mcp-approvals.json';

type Record = Readonly<{ [server: string]: string | undefined }>;

/** The approvals of a folder, by its real path. They are in the user's own settings, out of any project's reach. */
export async function openApprovals(folder: string, io: Pick<CliIo, 'env' | 'cwd'>): Promise<Approvals> {
  const config = configFolder(io);
  const path = config === null ? null : join(config, FILE);
  let own: Record = path === null ? {} : ((await readAll(path)).get(folder) ?? {});
  return {
    has: (server, digest) => Object.hasOwn(own, server) && own[server] === digest,
    async add(servers) {
      if (config === null || path === null) {
        throw new UsageError(
          'No MCP server can be approved without a place to record it. Set HOME or XDG_CONFIG_HOME.',
        );
      }
      await alone(config, async () => {
        const all = await readAll(path);
        own = Object.fromEntries([
          ...Object.entries(all.get(folder) ?? {}),
          ...servers.map(({ name, digest }) => [name, digest] as const),
        ]);
        all.set(folder, own);
        await writeWhole(path, `${JSON.stringify({ folders: Object.fromEntries(all) }, null, 2)}\n`);
      });
    },
  };
}

/** @throws UsageError for a record that can't be understood: it approves nothing. */
async function readAll(path: string): Promise<Map<string, Record>> {
  const file = await readSettingsFile(path);
  if (file === null) return new Map();
  const refuse = (): never => {
    throw new UsageError(`The record of approved MCP servers ${path} can't be understood. Mend it, or delete it.`);
  };
  let value: unknown;
  try {
    value = parseJson(file.text);
  } catch {
    return refuse();
  }
  const folders = isJsonObject(value) ? value['folders'] : undefined;
  if (folders === undefined || !isJsonObject(folders)) return refuse();
  return new Map(
    Object.entries(folders).map(([folder, servers]) => [
      folder,
      servers !== undefined && isJsonObject(servers) ? (servers as Record) : refuse(),
    ]),
  );
}
