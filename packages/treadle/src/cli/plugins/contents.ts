import { errorText, type Hook, type JsonObject } from '@treadle/core';
import { checkMatchers } from '@treadle/core/features';
import { readMcpFile } from '@treadle/mcp';
import { loadCommands, loadSkills, type Plugin } from '@treadle/skills';
import { hooksFromSettings } from '@treadle/tools';

import { join } from 'node:path';

import { readAgents } from '../../settings/agent-files.ts';
import { exactLine } from '../asking/plain-text.ts';
import type { CliIo } from '../io.ts';
import type { NamedServer } from '../mcp/servers.ts';

/** The MCP servers of a plugin, as `plugin_NAME_SERVER`. */
export function pluginServers(plugin: Plugin, io: Pick<CliIo, 'env'>, folder: string): readonly NamedServer[] {
  const path = join(plugin.folder, '.mcp.json');
  const own = variablesOf(plugin, folder);
  const text = JSON.stringify({ mcpServers: plugin.mcpServers });
  return readMcpFile(path, text, { env: { ...io.env, ...own }, folder, home: io.env['HOME'] }).map((server) => {
    const { config } = server;
    const isProcess = config !== null && 'command' in config;
    return {
      ...server,
      name: `plugin_${plugin.name}_${server.name}`,
      config: isProcess ? { ...config, env: { ...own, ...config.env } } : config,
      source: 'plugin',
      path,
    };
  });
}

/** What plugins of Claude Code find their own folder and the project's by. */
const variablesOf = (plugin: Plugin, folder: string): Readonly<Record<string, string>> => ({
  CLAUDE_PLUGIN_ROOT: plugin.folder,
  CLAUDE_PROJECT_DIR: folder,
});

/**
 * The hooks of a plugin. One that is for events or tools that there aren't can never be called: it is left out, and `say`
 * gets the reason.
 *
 * @param tools names of the tools that there may be
 */
export function pluginHooks(
  plugin: Plugin,
  folder: string,
  tools: readonly string[],
  say: (text: string) => void,
): readonly Hook[] {
  const source = `the plugin ${plugin.name}`;
  const environment = { ...process.env, ...variablesOf(plugin, folder) };
  const made = (event: string, group: JsonObject): readonly Hook[] => {
    const hooks = hooksFromSettings({ [event]: [group] }, { source, folder, environment });
    return checkMatchers(hooks, tools) ?? [];
  };
  const isFine = (event: string, group: JsonObject): boolean => {
    try {
      return made(event, group).length > 0;
    } catch {
      return false;
    }
  };
  return Object.entries(plugin.hooks).flatMap(([event, groups]) =>
    groups.flatMap((group) => {
      const { matcher } = group;
      // Of `Write|NotebookEdit`, what is about tools there are.
      const names = typeof matcher === 'string' && /^[\w|-]+$/.test(matcher) ? matcher.split('|') : [];
      const known = names.filter((name) => name !== '' && isFine(event, { ...group, matcher: name }));
      try {
        return made(event, known.length === 0 ? group : { ...group, matcher: known.join('|') });
      } catch (error) {
        say(`A hook is left out: ${errorText(error)}`);
        return [];
      }
    }),
  );
}

/** All that a plugin contains, a line for each part, for one who decides whether to trust it. */
export async function contentsText(plugin: Plugin, io: CliIo, folder: string): Promise<string> {
  const skills = await loadSkills(plugin.skills);
  const commands = await loadCommands(plugin.commands);
  const agents = await readAgents(plugin.agents);
  const flaws = [...plugin.problems, ...skills.problems, ...commands.problems];
  const left: string[] = [];
  pluginHooks(plugin, folder, [], (text) => left.push(text));
  const hooks = hookLines(plugin.hooks);
  const servers = pluginServers(plugin, io, folder).map(({ name, shown, problem }) => {
    return `${name}: ${shown}${problem === null ? '' : ` (can't be used: ${problem})`}`;
  });
  const parts: readonly (readonly [string, readonly string[]])[] = [
    [
      'Skills, which tell the model what to do',
      skills.skills.map(({ name, description }) => `${name}: ${description}`),
    ],
    ['Commands', commands.commands.map(({ name, description }) => `/${name}: ${description}`)],
    ['Agents', agents.agents.map(({ name, description }) => `${name}: ${description}`)],
    ['Hooks, which run by themselves', hooks],
    ['MCP servers, which start with each run', servers],
    [
      'Problems',
      [
        ...flaws.map(({ path, message }) => `${path.slice(plugin.folder.length + 1)}: ${message}`),
        ...agents.problems,
        ...left,
      ],
    ],
  ];
  const title = [plugin.name, plugin.version].filter((text) => text !== '').join(' ');
  return [
    exactLine(plugin.description === '' ? title : `${title}: ${plugin.description}`),
    ...parts.flatMap(([what, lines]) =>
      lines.length === 0 ? [] : [`${what}:`, ...lines.map((line) => `  ${exactLine(line)}`)],
    ),
    '',
  ].join('\n');
}

/** What hooks run, and when. */
export const hookLines = (hooks: Plugin['hooks']): readonly string[] =>
  Object.entries(hooks).flatMap(([event, groups]) =>
    groups.flatMap((group) => commandsOf(group).map((command) => `${event}${onlyFor(group)}: ${command}`)),
  );

const commandsOf = ({ hooks }: JsonObject): readonly string[] =>
  (Array.isArray(hooks) ? (hooks as readonly unknown[]) : []).map((hook) => {
    const { command } = Object(hook) as { readonly command?: unknown };
    return typeof command === 'string' ? command : JSON.stringify(hook);
  });

const onlyFor = ({ matcher }: JsonObject): string => (typeof matcher === 'string' ? ` (${matcher})` : '');
