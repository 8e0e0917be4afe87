import { errorText } from '@treadle/core';
import { loadPlugin, pluginDigest, type Plugin } from '@treadle/skills';

import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { exactLine } from '../asking/plain-text.ts';
import { openTerminal, readLines } from '../asking/terminal.ts';
import { PLUGINS_COMMANDS, PLUGINS_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { helpText, infoText } from '../help.ts';
import { printed } from '../io.ts';
import { parseOptions, type ParsedOptions } from '../options.ts';
import { realFolder } from '../sessions/folder-sessions.ts';
import { suggestion, UsageError } from '../usage-error.ts';
import { contentsText } from './contents.ts';
import { fetchPlugin } from './fetch.ts';
import { installedPlugins, pluginRecords, pluginsFolder, recordPlugin } from './store.ts';

interface Given extends CommandContext {
  readonly options: ParsedOptions<keyof typeof PLUGINS_OPTIONS>;
  /** What stands after the command's word. */
  readonly words: readonly string[];
}

const COMMANDS: Readonly<Record<string, (given: Given) => Promise<number>>> = { add, list, remove };

/** `treadle plugins`: the plugins that the user has trusted. Returns the exit code. */
export async function pluginsCommand(context: CommandContext, args: readonly string[]): Promise<number> {
  const options = parseOptions(args, PLUGINS_OPTIONS);
  const info = infoText('plugins', options);
  if (info !== null) return printed(context.out, info);
  const [word, ...words] = options.positionals;
  if (word === undefined) {
    context.out.print(helpText('plugins'));
    return EXIT.usage;
  }
  const command = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  if (command) return command({ ...context, options, words });
  throw new UsageError(
    `treadle plugins knows no '${word}'.${suggestion(word, PLUGINS_COMMANDS)} See: treadle plugins --help`,
  );
}

async function add({ io, out, options, words, interruptions, note }: Given): Promise<number> {
  const [source, ...more] = words;
  if (source === undefined)
    throw new UsageError('Which plugin? treadle plugins add FOLDER, or treadle plugins add URL');
  noMore(more, 'add FOLDER');
  const fetched = await interruptions.unless(fetchPlugin(source, options.text('path') ?? '.', io));
  try {
    const plugin = await loadPlugin(fetched.folder).catch((error: unknown) => {
      throw new UsageError(`${errorText(error)} A plugin in a folder of ${source} needs --path FOLDER.`);
    });
    const { name } = plugin;
    const digest = await pluginDigest(fetched.folder);
    const old = (await pluginRecords(io)).get(name);
    const [installed] = (await installedPlugins(io)).filter((each) => each.name === name);
    if (old?.digest === digest && installed?.state === 'ok') {
      out.print(`${name} is there already, as it is.\n`);
      return EXIT.done;
    }
    out.print(await contentsText(plugin, io, await realFolder(io.cwd, '.')));
    out.print(
      `From ${exactLine(fetched.source)}${fetched.commit === null ? '' : `, commit ${fetched.commit}`}\nSHA-256 ${digest}\n`,
    );
    if (!(await isTrusted(plugin, old !== undefined, { io, out, options, interruptions }))) {
      note(`${name} was not added. Add it with --trust, or answer y at a terminal.`);
      return EXIT.error;
    }
    await fetched.keep(name);
    await recordPlugin(io, name, { source: fetched.source, commit: fetched.commit, digest });
    out.print(`Added ${name}. It acts in every folder; treadle plugins remove ${name} ends that.\n`);
    return EXIT.done;
  } finally {
    await fetched.discard();
  }
}

async function isTrusted(
  { name }: Plugin,
  isReplacement: boolean,
  { io, out, options, interruptions }: Pick<Given, 'io' | 'out' | 'options' | 'interruptions'>,
): Promise<boolean> {
  if (options.flag('trust')) return true;
  const terminal = openTerminal(io, out, readLines(io.stdin));
  const what = isReplacement ? `Trust it in place of the ${name} that you have?` : 'Trust it?';
  const answer = await terminal.ask(`${what} [y/n] `, interruptions.first);
  return answer !== null && /^y(es)?$/i.test(answer.trim());
}

async function list({ io, out, options, words }: Given): Promise<number> {
  noMore(words, 'list');
  const all = await installedPlugins(io);
  if (options.flag('json')) {
    const plugins = all.map(({ name, record, state, plugin }) => {
      return { name, state, version: plugin?.version ?? null, folder: join(pluginsFolder(io), name), ...record };
    });
    out.print(`${JSON.stringify({ plugins })}\n`);
    return EXIT.done;
  }
  for (const { name, record, state, plugin } of all) {
    const version = plugin?.version ? ` ${plugin.version}` : '';
    out.print(`${exactLine(`${name}${version} (${state}): ${record.source}`)}\n`);
  }
  if (all.length === 0) out.print('No plugins. Add one: treadle plugins add FOLDER\n');
  return EXIT.done;
}

async function remove({ io, out, words }: Given): Promise<number> {
  const [name, ...more] = words;
  if (name === undefined) throw new UsageError('Which plugin? treadle plugins remove NAME');
  noMore(more, 'remove NAME');
  const all = await pluginRecords(io);
  if (!all.has(name)) throw new UsageError(`There is no plugin ${name}.${suggestion(name, [...all.keys()])}`);
  await recordPlugin(io, name, null);
  await rm(join(pluginsFolder(io), name), { recursive: true, force: true });
  out.print(`Removed ${name}.\n`);
  return EXIT.done;
}

function noMore(words: readonly string[], usage: string): void {
  if (words.length > 0) throw new UsageError(`'${words.join(' ')}' is too much: treadle plugins ${usage}`);
}
