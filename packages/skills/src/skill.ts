import { errorText } from '@treadle/core';
import { builtInToolName } from '@treadle/core/names';

import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';

import { splitFrontMatter, type FrontMatter } from './front-matter.ts';
import { readTextFile } from './text-file.ts';

/** A skill as its `SKILL.md` describes it. The instructions are read when a model asks for them. */
export interface Skill {
  /** Up to 64 lowercase letters, digits and single hyphens. */
  readonly name: string;
  /** What the skill does and when to use it. */
  readonly description: string;
  /** The real path of the skill's folder. */
  readonly folder: string;
  /** The path of its `SKILL.md`. */
  readonly path: string;
  /** Where it comes from: the label of the folder it was found in, such as `user` or `project`. */
  readonly source: string;
  readonly license?: string;
  readonly compatibility?: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Permission rules that the skill suggests by `allowed-tools`. They grant nothing: add those that you want. */
  readonly suggestedRules: readonly string[];
  /** Whether its files may have other names outside the folder, as package managers make them. */
  readonly hardLinks: 'refuse' | 'allow';
  /** Of a skill that is pinned: the SHA-256 of its `SKILL.md` when it was loaded. Another text is not given to a model. */
  readonly sha256?: string;
}

/** What is wrong with a skill or a command. `error`: it isn't in the set. `warning`: it is, with the flaw. */
export interface SkillProblem {
  readonly severity: 'error' | 'warning';
  readonly code: SkillProblemCode;
  /** The file or folder. */
  readonly path: string;
  readonly message: string;
}

/** Why a skill or a command was left out, or what is odd about it. */
export type SkillProblemCode =
  | 'unreadable'
  | 'no_skill_file'
  | 'bad_front_matter'
  | 'bad_name'
  | 'bad_description'
  | 'unknown_key'
  | 'not_run'
  | 'shadowed'
  | 'too_many';

export const SKILL_FILE = 'SKILL.md';

const MAX_DESCRIPTION = 1024;

const NAME = /^[\p{Ll}\p{Lo}\p{Nd}]+(?:-[\p{Ll}\p{Lo}\p{Nd}]+)*$/u;

const isName = (text: string): boolean => text.length <= 64 && NAME.test(text);

/** The text of a skill's `SKILL.md`. @throws Error when it can't be read, is too large, or is no text. */
export const readSkillFile = ({ folder, hardLinks }: Pick<Skill, 'folder' | 'hardLinks'>): Promise<string> =>
  readTextFile(folder, SKILL_FILE, hardLinks);

export const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Reads the skill of a folder. Null when it can't be used: `report` says why. */
export async function readSkill(
  { pinned, ...place }: Pick<Skill, 'folder' | 'source' | 'hardLinks'> & { readonly pinned: boolean },
  report: (problem: SkillProblem) => void,
): Promise<Skill | null> {
  const path = join(place.folder, SKILL_FILE);
  const say = (severity: SkillProblem['severity'], code: SkillProblemCode, message: string): null => {
    report({ severity, code, path, message });
    return null;
  };
  const text = await readSkillFile(place).catch((error: unknown) => say('error', 'unreadable', errorText(error)));
  if (text === null) return null;
  let front: FrontMatter;
  try {
    front = await splitFrontMatter(text);
  } catch (error) {
    return say('error', 'bad_front_matter', errorText(error));
  }
  const { fields } = front;
  if (front.isRepaired) say('warning', 'bad_front_matter', 'a value has a colon and no quotes: it was read as text');
  const description = textOf(fields['description']);
  if (description === '') return say('error', 'bad_description', 'it has no description');
  if (description.length > MAX_DESCRIPTION)
    say('warning', 'bad_description', `its description is longer than ${MAX_DESCRIPTION} characters`);
  const name = nameOf(fields['name'], basename(place.folder), say);
  if (name === null) return null;
  const license = textOf(fields['license']);
  const compatibility = textOf(fields['compatibility']);
  return {
    name,
    description,
    ...place,
    path,
    ...(pinned && { sha256: sha256Of(text) }),
    ...(license !== '' && { license }),
    ...(compatibility !== '' && { compatibility }),
    metadata: metadataOf(fields['metadata']),
    suggestedRules: rulesOf(fields['allowed-tools']),
  };
}

/** The name it gives itself, or else that of its folder. */
function nameOf(
  given: unknown,
  folder: string,
  say: (severity: SkillProblem['severity'], code: SkillProblemCode, message: string) => null,
): string | null {
  const name = textOf(given).normalize('NFKC');
  const rule = 'a name is 1 to 64 lowercase letters, digits and single hyphens';
  if (isName(name)) {
    if (name !== folder.normalize('NFKC'))
      say('warning', 'bad_name', `its name ${name} is not that of its folder, ${folder}`);
    return name;
  }
  if (!isName(folder))
    return say('error', 'bad_name', `neither ${JSON.stringify(name)} nor its folder is a name: ${rule}`);
  say('warning', 'bad_name', `${JSON.stringify(name)} is no name, and it is called ${folder}: ${rule}`);
  return folder;
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

function metadataOf(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** `Bash(git add:*) Read`, with commas or as a list, in the names of our tools. */
export function rulesOf(value: unknown): readonly string[] {
  const text = Array.isArray(value) ? value.filter((item) => typeof item === 'string').join(' ') : textOf(value);
  return (text.match(/[^\s,()]+(?:\([^)]*\))?/g) ?? []).map((rule) => {
    const [, tool = '', rest = ''] = /^([^(]*)(.*)$/s.exec(rule) ?? [];
    return `${builtInToolName(tool)}${rest}`;
  });
}
