import { isJsonObject, parseJson } from '@treadle/core/json';
import { loadPlugin, pluginDigest, type Plugin } from '@treadle/skills';

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { configFolder, readSettingsFile } from '../../settings/settings.ts';
import { alone, writeWhole } from '../../settings/trust.ts';
import type { CliIo } from '../io.ts';
import { homeFolder } from '../parts.ts';
import { UsageError } from '../usage-error.ts';

/** A plugin as it was trusted. */
export interface PluginRecord {
  /** The folder or the address that it comes from. */
  readonly source: string;
  /** Git's name of what was fetched; null for a folder. */
  readonly commit: string | null;
  /** What `pluginDigest` gave for it. */
  readonly digest: string;
}

const FILE = 'plugins.json';

/** Where copies of plugins are, each in a folder of its name. */
export const pluginsFolder = (io: CliIo): string => join(homeFolder(io), 'plugins');

/**
 * The plugins that the user has trusted, by name. The record is in their own settings, out of any project's reach.
 *
 * @throws UsageError for a record that can't be understood: it trusts nothing.
 */
export async function pluginRecords(io: Pick<CliIo, 'env' | 'cwd'>): Promise<ReadonlyMap<string, PluginRecord>> {
  const config = configFolder(io);
  const file = config === null ? null : await readSettingsFile(join(config, FILE));
  if (file === null) return new Map();
  const refuse = (): never => {
    throw new UsageError(`The record of plugins ${file.path} can't be understood. Mend it, or delete it.`);
  };
  let value: unknown;
  try {
    value = parseJson(file.text);
  } catch {
    return refuse();
  }
  const plugins = isJsonObject(value) ? value['plugins'] : undefined;
  if (plugins === undefined || !isJsonObject(plugins)) return refuse();
  return new Map(
    Object.entries(plugins).map(([name, record]) => [name, isName(name) && isRecord(record) ? record : refuse()]),
  );
}

const isName = (name: string): boolean => /^[a-z0-9-]+$/.test(name);

function isRecord(value: unknown): value is PluginRecord {
  const { source, commit, digest } = Object(value) as Partial<Record<keyof PluginRecord, unknown>>;
  return typeof source === 'string' && typeof digest === 'string' && (commit === null || typeof commit === 'string');
}

/** Records a plugin, or with null that there is none of this name. @throws UsageError without a place to record it. */
export async function recordPlugin(io: CliIo, name: string, record: PluginRecord | null): Promise<void> {
  const config = configFolder(io);
  if (config === null) {
    throw new UsageError('No plugin can be trusted without a place to record it. Set HOME or XDG_CONFIG_HOME.');
  }
  await alone(config, async () => {
    const all = new Map(await pluginRecords(io));
    if (record === null) all.delete(name);
    else all.set(name, record);
    await writeWhole(join(config, FILE), `${JSON.stringify({ plugins: Object.fromEntries(all) }, null, 2)}\n`);
  });
}

/** A plugin that was trusted, and whether it still is what was trusted. */
export interface InstalledPlugin {
  readonly name: string;
  readonly record: PluginRecord;
  readonly state: 'ok' | 'changed' | 'missing' | 'unusable';
  /** Null unless the state is `ok`: what has changed isn't even read. */
  readonly plugin: Plugin | null;
}

/** The plugins that the user has trusted, with what they contain. */
export async function installedPlugins(io: CliIo): Promise<readonly InstalledPlugin[]> {
  const installed: InstalledPlugin[] = [];
  for (const [name, record] of await pluginRecords(io)) {
    const folder = join(pluginsFolder(io), name);
    const digest = existsSync(folder) ? await pluginDigest(folder).catch(() => 'too large') : null;
    const isSame = digest === record.digest;
    const plugin = isSame ? await loadPlugin(folder).catch(() => null) : null;
    const state = plugin ? 'ok' : digest === null ? 'missing' : isSame ? 'unusable' : 'changed';
    installed.push({ name, record, state, plugin });
  }
  return installed;
}

const WHY: Readonly<Record<InstalledPlugin['state'], string>> = {
  ok: 'is as it was',
  changed: 'has changed since you trusted it',
  missing: 'is not there',
  unusable: 'is no plugin of today',
};

/** The plugins that act: those that are as they were trusted. A note says which are left alone. */
export async function actingPlugins(io: CliIo, note: (text: string) => void): Promise<readonly Plugin[]> {
  const plugins: Plugin[] = [];
  for (const { name, state, plugin, record } of await installedPlugins(io)) {
    if (plugin) plugins.push(plugin);
    else
      note(
        `The plugin ${name} is left alone: it ${WHY[state]}. ` +
          `treadle plugins add ${record.source} installs it again; treadle plugins remove ${name} forgets it.`,
      );
  }
  return plugins;
}
