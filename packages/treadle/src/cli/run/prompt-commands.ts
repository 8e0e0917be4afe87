import { closestName } from '@treadle/core/names';
import type { CommandSet, Plugin } from '@treadle/skills';

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { plainLine } from '../asking/plain-text.ts';
import type { CliIo } from '../io.ts';
import { homeFolder } from '../parts.ts';
import { UsageError } from '../usage-error.ts';

/** Where commands are loaded for. */
interface CommandPlace {
  readonly io: CliIo;
  readonly folder: string;
  /** Whether the folder's own act. */
  readonly isTrusted: boolean;
  readonly plugins: readonly Plugin[];
}

/** The folders of commands: the user's own, and the folder's. Only those that are there. */
async function foldersOf({ io, folder }: Pick<CommandPlace, 'io' | 'folder'>) {
  const { commandFolders } = await import('@treadle/skills');
  const home = io.env['HOME'];
  const ofTreadle = join(homeFolder(io), 'commands');
  const ofHome = home ? commandFolders({ home: resolve(io.cwd, home) }) : [];
  const own = [...ofHome.filter(({ path }) => path !== ofTreadle), { path: ofTreadle, source: 'user' }];
  const isUsers = (path: string): boolean => own.some((place) => place.path === path);
  const project = commandFolders({ project: folder }).filter(({ path }) => existsSync(path) && !isUsers(path));
  return { own, project };
}

/** The commands that a user of a folder may type. Those of a folder that nobody trusts are not even read. */
export async function commandsOf(place: CommandPlace): Promise<CommandSet> {
  const { loadCommands } = await import('@treadle/skills');
  const { own, project } = await foldersOf(place);
  const ofPlugins = place.plugins.flatMap(({ commands }) => commands);
  return loadCommands([...ofPlugins, ...own, ...(place.isTrusted ? project : [])]);
}

const MEANT = /^\/([\p{L}\p{N}_][\p{L}\p{N}_.:-]*)(?:\s|$)/u;

/**
 * The texts of a prompt, where the first is like `/review src/main.ts` with the text of the command that it names.
 *
 * @throws UsageError for a name that is nearly one of a command.
 */
export async function withCommand(
  texts: readonly string[],
  place: Omit<CommandPlace, 'isTrusted' | 'plugins'> & { readonly note: (text: string) => void },
  rights: Pick<CommandPlace, 'isTrusted' | 'plugins'>,
): Promise<readonly string[]> {
  const [prompt = '', ...others] = texts;
  const name = MEANT.exec(prompt)?.[1];
  if (name === undefined) return texts;
  const { io, folder, note } = place;
  const { expandCommand } = await import('@treadle/skills');
  const set = await commandsOf({ io, folder, isTrusted: rights.isTrusted, plugins: rights.plugins });
  const text = expandCommand(set, prompt);
  for (const { path, message } of set.problems) {
    if (path === set.commands.find((command) => command.name === name)?.path)
      note(plainLine(`The command ${path}: ${message}.`, 300));
  }
  if (text !== null) return [text, ...others];
  const meant = closestName(
    name,
    set.commands.map((command) => command.name),
  );
  if (meant === undefined) return texts;
  throw new UsageError(`There is no command /${name}. Did you mean /${meant}? To send it as text, begin with a space.`);
}
