import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import type { SkillFolder } from './load.ts';

/** Where skills are looked for. */
export interface SkillPlaces {
  /** The user's home folder; without one there are no skills of the user's own. */
  readonly home?: string;
  /** The project's folder. Name it only when you trust it: its skills tell the model what to do. */
  readonly project?: string;
  /** npm packages with a `SKILL.md` or a folder `skills`, installed in the project or above it. */
  readonly packages?: readonly { readonly name: string; readonly from: string }[];
}

/** Below the home folder and below a project: the later ones win. */
const SKILLS = ['.claude/skills', '.agents/skills', '.treadle/skills'] as const;
const COMMANDS = ['.claude/commands', '.treadle/commands'] as const;

/**
 * The folders that skills are looked for in, for `loadSkills`: packages, then the user's own, then the project's.
 *
 * @example
 * ```ts
 * import { loadSkills, skillFolders } from '@treadle/skills';
 * import { homedir } from 'node:os';
 *
 * const { skills } = await loadSkills(skillFolders({ home: homedir(), project: process.cwd() }));
 * ```
 */
export function skillFolders({ packages = [], ...places }: SkillPlaces): readonly SkillFolder[] {
  return [...packages.map(packageFolder), ...below(SKILLS, places)];
}

/**
 * The folders that commands are looked for in, for `loadCommands`: the user's own, then the project's.
 *
 * @example
 * ```ts
 * import { commandFolders, loadCommands } from '@treadle/skills';
 * import { homedir } from 'node:os';
 *
 * const { commands } = await loadCommands(commandFolders({ home: homedir(), project: process.cwd() }));
 * ```
 */
export const commandFolders = (places: Pick<SkillPlaces, 'home' | 'project'>): readonly SkillFolder[] =>
  below(COMMANDS, places);

function below(paths: readonly string[], places: Pick<SkillPlaces, 'home' | 'project'>): readonly SkillFolder[] {
  const { home, project } = places;
  const inside = (folder: string, more: Pick<SkillFolder, 'source' | 'within'>): SkillFolder[] =>
    paths.map((path) => ({ path: join(folder, path), ...more }));
  return [
    ...(home === undefined ? [] : inside(home, { source: 'user' })),
    ...(project === undefined ? [] : inside(project, { source: 'project', within: project })),
  ];
}

/** Where a package is found, as Node looks for it. One that isn't installed has no skills. */
function packageFolder({ name, from }: { readonly name: string; readonly from: string }): SkillFolder {
  let folder = resolve(from);
  const inFolder = (): string => join(folder, 'node_modules', name);
  while (!existsSync(inFolder()) && folder !== dirname(folder)) folder = dirname(folder);
  const path = inFolder();
  const isSkill = existsSync(join(path, 'SKILL.md'));
  return { path: isSkill ? path : join(path, 'skills'), source: name, hardLinks: 'allow' };
}
