import { defineTool, errorText, type AgentDefinition, type Message, type Tool, type ToolResult } from '@treadle/core';
import { readFileTool } from '@treadle/tools';

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { splitFrontMatter } from './front-matter.ts';
import type { SkillSet } from './load.ts';
import { readSkillFile, sha256Of, SKILL_FILE, type Skill } from './skill.ts';

const SKILL = 'skill';
const SKILL_FILE_TOOL = 'skill_file';

/** What the list of skills may take of a prompt. */
export interface SkillsPromptOptions {
  /** Estimated at four characters each. Default 4,000. Longer lists have shorter descriptions. */
  readonly maxTokens?: number;
  /** Gets a sentence when the list was shortened. */
  readonly onWarning?: (message: string) => void;
}

const MAX_TOKENS = 4000;
const CHARACTERS_PER_TOKEN = 4;

/**
 * The list of skills for a system prompt: an `<available_skills>` block with names, descriptions and locations. Empty
 * without skills. Above `maxTokens`, descriptions are cut to one length; where that isn't enough, the last skills have none.
 */
export function skillsPrompt({ skills }: SkillSet, options: SkillsPromptOptions = {}): string {
  if (skills.length === 0) return '';
  const { maxTokens = MAX_TOKENS, onWarning } = options;
  const listed = (most: number): readonly string[] =>
    skills.map(
      ({ name, description, path }) =>
        `  <skill>\n    <name>${escaped(name)}</name>\n    <description>${escaped(cut(description, most))}</description>\n` +
        `    <location>${escaped(path)}</location>\n  </skill>`,
    );
  const sizeOf = (entries: readonly string[]): number => entries.join('\n').length;
  const most = maxTokens * CHARACTERS_PER_TOKEN;
  let entries = listed(Number.POSITIVE_INFINITY);
  const whole = sizeOf(entries);
  if (whole > most) {
    const room = Math.floor((most - sizeOf(listed(0))) / skills.length);
    entries = listed(Math.max(0, room));
    let size = 0;
    const fitting = entries.filter((entry) => (size += entry.length + 1) <= most);
    onWarning?.(
      `The list of ${skills.length} skills takes about ${Math.ceil(whole / CHARACTERS_PER_TOKEN)} tokens, above ${maxTokens}: ` +
        (fitting.length === skills.length
          ? `descriptions are cut to ${room} characters.`
          : `${skills.length - fitting.length} skills are left out of it.`),
    );
    entries = fitting;
  }
  return `Skills are instructions for special tasks. When a task matches a description, call ${SKILL} with the name first.

<available_skills>
${entries.join('\n')}
</available_skills>`;
}

const cut = (text: string, most: number): string =>
  text.length <= most
    ? text
    : `${text
        .slice(0, Math.max(0, most - 1))
        .toWellFormed()
        .trimEnd()}${most > 0 ? '…' : ''}`;

const escaped = (text: string): string =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

/**
 * The tools `skill`, which returns a skill's instructions, and `skill_file`, which reads a file in its folder, wherever
 * the folder is. Both only read. None without skills.
 */
export function skillTools({ skills }: SkillSet): readonly Tool[] {
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  if (byName.size === 0) return [];
  const names = [...byName.keys()];
  const named = (name: string): Skill => {
    const skill = byName.get(name);
    if (!skill) throw new Error(`There is no skill ${name}.`);
    return skill;
  };
  const fileTool = (name: string): Tool => readFileTool({ root: named(name).folder, hardLinks: named(name).hardLinks });
  return [
    defineTool({
      name: SKILL,
      description: 'Read the instructions of a skill before you do what it is for.',
      inputSchema: {
        type: 'object',
        properties: { name: { type: 'string', enum: names } },
        required: ['name'],
        additionalProperties: false,
      },
      replay: 'safe',
      readOnly: true,
      access: ({ name }) => {
        const { folder, path } = named(name);
        return { folder, paths: [{ path, write: false }], readOnly: true };
      },
      execute: async ({ name }, context) => activate(named(name), (path) => context.lastRead(path)),
    }),
    defineTool({
      name: SKILL_FILE_TOOL,
      description: "Read a text file or an image in a skill's folder, such as references/api.md.",
      inputSchema: {
        type: 'object',
        properties: {
          skill: { type: 'string', enum: names },
          path: { type: 'string', description: "Relative to the skill's folder." },
          offset: { type: 'integer', minimum: 1, description: 'First line to read, from 1.' },
          limit: { type: 'integer', minimum: 1, description: 'Most lines to read.' },
        },
        required: ['skill', 'path'],
        additionalProperties: false,
      },
      replay: 'safe',
      readOnly: true,
      access: async ({ skill, ...args }) => (await fileTool(skill).access?.(args)) ?? {},
      execute: async ({ skill, ...args }, context) => {
        // Its paths begin at the skill's folder: they are none of the working folder's.
        const result = await fileTool(skill).execute?.(args, context);
        return typeof result === 'object' && result !== null && 'reads' in result ? { ...result, reads: [] } : result;
      },
    }),
  ];
}

async function activate(skill: Skill, lastRead: (path: string) => string | null): Promise<ToolResult> {
  const { name, folder, path } = skill;
  let text: string;
  let body: string;
  try {
    text = await readSkillFile(skill);
    ({ body } = await splitFrontMatter(text));
  } catch (error) {
    return { content: `The skill ${name} can't be read: ${errorText(error)}`, isError: true };
  }
  const hash = sha256Of(text);
  if (skill.sha256 !== undefined && skill.sha256 !== hash) {
    return {
      content: `The skill ${name} changed since this session began. The user must look at it and start again.`,
      isError: true,
    };
  }
  if (lastRead(path) === hash) return { content: `The skill ${name} is active: its instructions stand above.` };
  const files = await filesOf(folder);
  const listed =
    files.length === 0
      ? ''
      : `\n\nFiles of the skill, for ${SKILL_FILE_TOOL}; run a script by its full path:\n${files.join('\n')}`;
  return {
    content: `The skill ${name}, in the folder ${folder}:\n\n${body}${listed}`,
    details: { skill: name },
    reads: [{ path, hash }],
  };
}

const MAX_FILES = 100;

/** The files below a skill's folder, relative to it; the first hundred. Links are not followed. */
async function filesOf(folder: string): Promise<readonly string[]> {
  const files: string[] = [];
  const waiting = [''];
  for (let inside = waiting.shift(); inside !== undefined && files.length < MAX_FILES; inside = waiting.shift()) {
    const entries = await readdir(join(folder, inside), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = inside === '' ? entry.name : `${inside}/${entry.name}`;
      if (entry.name.startsWith('.') || entry.name === 'node_modules' || path === SKILL_FILE) continue;
      if (entry.isDirectory()) waiting.push(path);
      else if (entry.isFile()) files.push(path);
    }
  }
  return files.slice(0, MAX_FILES);
}

/**
 * Whether a message has the instructions of an active skill. As `context.pin` of an agent it keeps them in every
 * compaction.
 */
export const isActiveSkill = (message: Message): boolean =>
  message.role === 'tool' && message.toolName === SKILL && !message.isError;

/**
 * An agent's definition with skills: the list of them after its instructions, the tools that read them, and what keeps
 * active ones in compactions. Without skills it stays as it is.
 *
 * @example
 * ```ts
 * import { defineAgent } from '@treadle/core';
 * import { loadSkills, withSkills } from '@treadle/skills';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const skills = await loadSkills(['.agents/skills']);
 * const agent = defineAgent(withSkills({ model: scriptedModel(['Hello.']) }, skills));
 * ```
 */
export function withSkills<Definition extends Omit<AgentDefinition, 'tools'> & { readonly tools?: readonly Tool[] }>(
  definition: Definition,
  set: SkillSet,
  options: SkillsPromptOptions = {},
): Definition & { readonly tools: readonly Tool[] } {
  const { tools = [], instructions, context = {} } = definition;
  if (set.skills.length === 0) return { ...definition, tools };
  return {
    ...definition,
    instructions: [instructions, skillsPrompt(set, options)].filter((text) => text).join('\n\n'),
    tools: [...tools, ...skillTools(set)],
    context: context && {
      ...context,
      pin: (message) => isActiveSkill(message) || context.pin?.(message) === true,
    },
  };
}
