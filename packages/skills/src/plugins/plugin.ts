import { errorText, TreadleError, type JsonObject, type JsonValue } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';

import { existsSync } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';

import type { CommandFolder } from '../commands.ts';
import { problemOf, type SkillFolder } from '../load.ts';
import type { SkillProblem, SkillProblemCode } from '../skill.ts';
import { readTextFile } from '../text-file.ts';

/** What a plugin's folder contains, as data: loading it runs nothing, and nothing of it acts by itself. */
export interface Plugin {
  /** Up to 64 lowercase letters, digits and single hyphens. */
  readonly name: string;
  /** Empty when the manifest doesn't say. */
  readonly version: string;
  readonly description: string;
  /** The real path. */
  readonly folder: string;
  /** For `loadSkills`. */
  readonly skills: readonly SkillFolder[];
  /** For `loadCommands`: `/name:command`. */
  readonly commands: readonly CommandFolder[];
  /** Markdown files, each an agent. */
  readonly agents: readonly string[];
  /** Shell commands by event, for `hooksFromSettings` of `@treadle/tools`. Run them with the variable `CLAUDE_PLUGIN_ROOT`. */
  readonly hooks: Readonly<Record<string, readonly JsonObject[]>>;
  /** MCP servers by name, for `readMcpFile` of `@treadle/mcp` with the variable `CLAUDE_PLUGIN_ROOT`. */
  readonly mcpServers: JsonObject;
  readonly problems: readonly SkillProblem[];
}

const MANIFEST = '.claude-plugin/plugin.json';
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
/** Keys with an effect, and those that are only about the plugin. */
const KNOWN = [
  ...['name', 'version', 'description', 'commands', 'agents', 'skills', 'hooks', 'mcpServers'],
  ...['$schema', 'displayName', 'author', 'homepage', 'repository', 'license', 'keywords', 'category', 'tags'],
];
/** Where the parts are if the manifest names no place besides. */
const PLACES = ['commands', 'agents', 'skills', 'hooks/hooks.json', '.mcp.json', 'SKILL.md'] as const;

/**
 * Loads a plugin: a folder with `skills`, `commands`, `agents`, `hooks/hooks.json` and `.mcp.json`, all of them optional, and
 * perhaps a manifest `.claude-plugin/plugin.json`, as Claude Code has them. Parts that can't be used are in `problems`.
 *
 * @throws TreadleError `invalid_definition` when the folder is no plugin, or its manifest can't be read.
 *
 * @example
 * ```ts
 * import { loadCommands, loadPlugin } from '@treadle/skills';
 * import { mkdir, writeFile } from 'node:fs/promises';
 *
 * await mkdir('review-kit/commands', { recursive: true });
 * await writeFile('review-kit/commands/review.md', 'Review $ARGUMENTS.');
 * const { name, commands } = await loadPlugin('review-kit');
 * const loaded = await loadCommands(commands);
 * console.log(name, loaded.commands.map((command) => command.name)); // review-kit [ 'review' ]
 * ```
 */
export async function loadPlugin(path: string): Promise<Plugin> {
  const problems: SkillProblem[] = [];
  const refuse = (why: string, cause?: unknown): never => {
    throw new TreadleError('invalid_definition', `${path} is no plugin: ${why}.`, { cause, details: { path } });
  };
  const folder = await realpath(path).catch((error: unknown) => refuse('it is not there', error));
  if (!(await stat(folder)).isDirectory()) return refuse('it is no folder');
  const has = (place: string): boolean => existsSync(join(folder, place));
  if (!has(MANIFEST) && !PLACES.some(has)) return refuse(`it has no ${MANIFEST}, and none of ${PLACES.join(', ')}`);
  const manifest = has(MANIFEST)
    ? await readJson(folder, MANIFEST).catch((error: unknown) => refuse(errorText(error), error))
    : {};
  const name = textOf(manifest['name']) || basename(folder).toLowerCase();
  if (!NAME.test(name) || name.length > 64) refuse(`${JSON.stringify(name)} is no name`);
  const unknown = Object.keys(manifest).filter((key) => !KNOWN.includes(key));
  const say = (severity: SkillProblem['severity'], code: SkillProblemCode, place: string, message: string): void =>
    void problems.push(problemOf(severity, code, join(folder, place), message));
  if (unknown.length > 0) say('warning', 'unknown_key', MANIFEST, `${unknown.join(', ')} has no effect here`);

  /** The usual place of a part and those that the manifest names, as far as they are there and inside the folder. */
  const placesOf = (key: string, usual: string): readonly string[] => {
    const given = manifest[key];
    const named = (Array.isArray(given) ? (given as readonly JsonValue[]) : [given]).filter(
      (place): place is string => typeof place === 'string',
    );
    for (const place of named) {
      if (inside(folder, place) === null) say('error', 'unreadable', MANIFEST, `${key}: ${place} leads out of it`);
      else if (!has(place)) say('error', 'unreadable', MANIFEST, `${key}: there is no ${place}`);
    }
    const all = [usual, ...named].flatMap((place) => inside(folder, place) ?? []);
    return [...new Set(all)].filter((place) => existsSync(place));
  };
  /** The objects of a part's files, and of the manifest itself. */
  const objectsOf = async (key: string, usual: string): Promise<readonly JsonObject[]> => {
    const objects: JsonObject[] = [];
    for (const place of placesOf(key, usual)) {
      const file = relative(folder, place);
      await readJson(folder, file).then(
        (object) => objects.push(object),
        (error: unknown) => say('error', 'unreadable', file, errorText(error)),
      );
    }
    const own = manifest[key];
    return own !== undefined && isJsonObject(own) ? [...objects, own] : objects;
  };
  const variables = { CLAUDE_PLUGIN_ROOT: folder };
  const source = `plugin ${name}`;
  const skills = [...placesOf('skills', 'skills'), ...(has('SKILL.md') ? [folder] : [])];
  const agents = await Promise.all(placesOf('agents', 'agents').map(markdownIn));
  const hooks = (await objectsOf('hooks', 'hooks/hooks.json')).map((object) => within(object, 'hooks'));
  const servers = (await objectsOf('mcpServers', '.mcp.json')).map((object) => within(object, 'mcpServers'));
  return {
    name,
    version: textOf(manifest['version']),
    description: textOf(manifest['description']),
    folder,
    skills: skills.map((place) => ({ path: place, source, within: folder })),
    commands: placesOf('commands', 'commands').map((place) => {
      return { path: place, source, within: folder, namespace: name, variables };
    }),
    agents: agents.flat(),
    hooks: hooksOf(hooks),
    mcpServers: Object.assign({}, ...servers) as JsonObject,
    problems,
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

/** A path below a folder; null for one that leads out of it. */
function inside(folder: string, place: string): string | null {
  const path = resolve(folder, place);
  return path === folder || path.startsWith(folder + sep) ? path : null;
}

/** Files have their object below a key, or are it. */
function within(object: JsonObject, key: string): JsonObject {
  const inner = object[key];
  return inner !== undefined && isJsonObject(inner) ? inner : object;
}

async function readJson(folder: string, file: string): Promise<JsonObject> {
  const value: unknown = parseJson((await readTextFile(folder, file, 'refuse')).replace(/^\uFEFF/, ''));
  if (isJsonObject(value)) return value;
  throw new Error(`${file} must be a JSON object`);
}

/** A Markdown file, or those in a folder. */
async function markdownIn(place: string): Promise<readonly string[]> {
  if (place.endsWith('.md')) return [place];
  const names = await readdir(place).catch(() => []);
  return names
    .filter((name) => name.endsWith('.md'))
    .toSorted()
    .map((name) => join(place, name));
}

function hooksOf(objects: readonly JsonObject[]): Readonly<Record<string, readonly JsonObject[]>> {
  const all: Record<string, JsonObject[]> = {};
  for (const [event, groups] of objects.flatMap((object) => Object.entries(object))) {
    if (!Array.isArray(groups)) continue;
    all[event] = [...(all[event] ?? []), ...(groups as readonly JsonValue[]).filter(isJsonObject)];
  }
  return all;
}
