import { errorText } from '@treadle/core';

import { readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';

import { readSkill, SKILL_FILE, type Skill, type SkillProblem, type SkillProblemCode } from './skill.ts';

/** A folder that holds skills, each in a folder of its own, or that is one. */
export interface SkillFolder {
  readonly path: string;
  /** A label for its skills. Default: the path. */
  readonly source?: string;
  /** The folder that its skills must really be in, whatever links there are. Default: anywhere. */
  readonly within?: string;
  /** `allow` for folders in which package managers share files by hard links. Default `refuse`. */
  readonly hardLinks?: 'refuse' | 'allow';
  /** Whether a skill whose `SKILL.md` changes after it was loaded is refused to models. Default false. */
  readonly pinned?: boolean;
}

/** Skills by name, and what was wrong with others. */
export interface SkillSet {
  /** Sorted by name. */
  readonly skills: readonly Skill[];
  readonly problems: readonly SkillProblem[];
}

const MAX_DEPTH = 4;
const MAX_FOLDERS = 2000;

/**
 * Loads the skills of folders. Of two skills with one name, that of the later folder wins. A folder that isn't there has
 * none. Nothing fails: what can't be used is in `problems`.
 *
 * @example
 * ```ts
 * import { loadSkills } from '@treadle/skills';
 *
 * const { skills, problems } = await loadSkills(['.agents/skills', { path: '.treadle/skills', source: 'project' }]);
 * for (const { path, message } of problems) console.warn(`${path}: ${message}`);
 * console.log(skills.map(({ name }) => name));
 * ```
 */
export async function loadSkills(folders: readonly (string | SkillFolder)[]): Promise<SkillSet> {
  let all: SkillSet = { skills: [], problems: [] };
  for (const folder of folders) {
    all = mergeSkills(all, await loadFolder(typeof folder === 'string' ? { path: folder } : folder));
  }
  return all;
}

/** Both sets in one. The second's skill of a name replaces the first's, with a warning. */
export function mergeSkills(first: SkillSet, second: SkillSet): SkillSet {
  const byName = new Map(first.skills.map((skill) => [skill.name, skill]));
  const problems = [...first.problems, ...second.problems];
  for (const skill of second.skills) {
    const old = byName.get(skill.name);
    // The same folder by another link is no other skill.
    if (old?.folder === skill.folder) continue;
    if (old) problems.push(problemOf('warning', 'shadowed', old.path, `replaced by ${skill.path}`));
    byName.set(skill.name, skill);
  }
  return { skills: [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)), problems };
}

export const problemOf = (
  severity: SkillProblem['severity'],
  code: SkillProblemCode,
  path: string,
  message: string,
): SkillProblem => ({ severity, code, path, message });

async function loadFolder(given: SkillFolder): Promise<SkillSet> {
  const { path, source = path, within, hardLinks = 'refuse', pinned = false } = given;
  const problems: SkillProblem[] = [];
  const report = (problem: SkillProblem): void => void problems.push(problem);
  const found = new Set<string>();
  const bound = within === undefined ? null : await realpath(within).catch(() => within);
  let left = MAX_FOLDERS;

  /** Finds the skills in a folder and below; false when there is nothing of the kind. */
  async function scan(folder: string, depth: number): Promise<boolean> {
    left -= 1;
    if (left === 0)
      report(problemOf('error', 'too_many', path, `more than ${MAX_FOLDERS} folders: the rest is left out`));
    if (left <= 0) return true;
    const real = await realpath(folder);
    if (found.has(real)) return true;
    if (bound !== null && real !== bound && !real.startsWith(bound + sep)) {
      report(problemOf('error', 'unreadable', folder, `it is a link out of ${bound}`));
      return true;
    }
    const names = (await readdir(real)).toSorted();
    if (names.includes(SKILL_FILE)) {
      found.add(real);
      return true;
    }
    const almost = names.find((name) => name.toUpperCase() === SKILL_FILE.toUpperCase());
    if (almost !== undefined) {
      report(problemOf('error', 'no_skill_file', join(folder, almost), `its name must be ${SKILL_FILE}`));
      return true;
    }
    let isAny = false;
    if (depth === MAX_DEPTH) return false;
    for (const name of names) {
      if (name.startsWith('.') || name === 'node_modules') continue;
      const child = join(folder, name);
      if (!(await stat(child).catch(() => null))?.isDirectory()) continue;
      const has = await scan(child, depth + 1).catch((error: unknown) => {
        report(problemOf('error', 'unreadable', child, errorText(error)));
        return true;
      });
      isAny ||= has;
      if (!has && depth === 0) report(problemOf('error', 'no_skill_file', child, `it has no ${SKILL_FILE}`));
    }
    return isAny;
  }

  const isThere = (await stat(path).catch(() => null))?.isDirectory() === true;
  if (isThere) {
    await scan(path, 0).catch((error: unknown) => report(problemOf('error', 'unreadable', path, errorText(error))));
  }
  const skills: Skill[] = [];
  for (const folder of found) {
    const skill = await readSkill({ folder, source, hardLinks, pinned }, report);
    if (skill) skills.push(skill);
  }
  // Two of one folder: the later in the order of their paths.
  return skills.reduce<SkillSet>((all, skill) => mergeSkills(all, { skills: [skill], problems: [] }), {
    skills: [],
    problems,
  });
}
