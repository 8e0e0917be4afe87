import { loadPlugin, type Plugin } from '@treadle/skills';

import { plainLine } from '../../cli/asking/plain-text.ts';
import type { SdkOptions } from '../options.ts';

/** The plugins that the client names itself, which is trust enough. @throws TreadleError for a folder that is none. */
export async function pluginsFor(
  { pluginFolders, noMcpFolders }: SdkOptions,
  note: (text: string) => void,
): Promise<Plugin[]> {
  const plugins = await Promise.all(
    [...pluginFolders, ...noMcpFolders].map(async (folder) => {
      const plugin = await loadPlugin(folder);
      return noMcpFolders.includes(folder) ? { ...plugin, mcpServers: {} } : plugin;
    }),
  );
  for (const { path, message } of plugins.flatMap(({ problems }) => problems))
    note(plainLine(`The plugin ${path}: ${message}.`, 300));
  return plugins;
}
