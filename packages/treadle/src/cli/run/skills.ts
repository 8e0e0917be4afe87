import type { Tool } from '@treadle/core';
import type { Plugin, Skill, SkillFolder } from '@treadle/skills';

import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

import { plainLine } from '../asking/plain-text.ts';
import type { CliIo } from '../io.ts';
import { homeFolder } from '../parts.ts';
import { UsageError } from '../usage-error.ts';
import type { RunRequest } from './request.ts';

/** Where the skills of a folder are. */
export interface SkillsInReach {
  /** Those of plugins, of packages and folders that the user names, then the user's own. */
  readonly own: readonly SkillFolder[];
  /** The folder's, which act once it is trusted. Only those that are there. */
  readonly project: readonly SkillFolder[];
}

/** Finds the folders of skills, and reads nothing. @throws UsageError for one that is named and isn't there. */
export async function skillsInReach(
  folder: string,
  io: CliIo,
  named: readonly string[],
  plugins: readonly Plugin[],
): Promise<SkillsInReach> {
  const { skillFolders } = await import('@treadle/skills');
  const home = io.env['HOME'];
  const packages = skillFolders({
    packages: named.filter((name) => !isFolder(name)).map((name) => ({ name, from: folder })),
  });
  const given = named.filter(isFolder).map((name) => ({ path: resolve(io.cwd, name), source: name }));
  const missing = [...given, ...packages].find(({ path }) => !existsSync(path));
  if (missing) throw new UsageError(`--skills ${missing.source}: there is no ${missing.path}.`);
  const ofTreadle = join(homeFolder(io), 'skills');
  const ofHome = home ? skillFolders({ home: resolve(io.cwd, home) }) : [];
  const user = [...ofHome.filter(({ path }) => path !== ofTreadle), { path: ofTreadle, source: 'user' }];
  // In the home folder they are the user's own.
  const isUsers = ({ path }: SkillFolder): boolean => user.some((place) => place.path === path);
  const project = skillFolders({ project: folder })
    .filter((place) => existsSync(place.path) && !isUsers(place))
    .map((place) => ({ ...place, pinned: true }));
  return { own: [...plugins.flatMap(({ skills }) => skills), ...packages, ...user, ...given], project };
}

const isFolder = (name: string): boolean => name.startsWith('.') || isAbsolute(name);

/** What skills add to an agent. */
interface AgentSkills {
  readonly list: readonly Pick<Skill, 'name' | 'description'>[];
  readonly tools: readonly Tool[];
  /** The instructions with the list of skills below them. */
  readonly instructions: (own: string) => string;
}

/** The skills of a run; none where somebody names the tools. Those of a folder that nobody trusts are not even read. */
export async function skillsFor(
  run: {
    readonly io: CliIo;
    readonly note: (text: string) => void;
    readonly request: Pick<RunRequest, 'skills' | 'tools'>;
    readonly folder: string;
  },
  rights: { readonly isTrusted: boolean; readonly plugins: readonly Plugin[] },
): Promise<AgentSkills> {
  const { io, note, request, folder } = run;
  if (request.skills === null || request.tools !== undefined)
    return { list: [], tools: [], instructions: (own) => own };
  const { own, project } = await skillsInReach(folder, io, request.skills, rights.plugins);
  const { loadSkills, skillsPrompt, skillTools } = await import('@treadle/skills');
  const set = await loadSkills(rights.isTrusted ? [...own, ...project] : own);
  for (const { severity, path, message, code } of set.problems) {
    if (severity === 'error' || code === 'shadowed') note(plainLine(`The skill ${path}: ${message}.`, 300));
  }
  const list = skillsPrompt(set, { onWarning: note });
  return { list: set.skills, tools: skillTools(set), instructions: (own) => (list === '' ? own : `${own}\n\n${list}`) };
}
