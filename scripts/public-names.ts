// The names that packages export, and where each is declared.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { packagesOf } from './release/workspace.ts';

export interface PublicName {
  readonly name: string;
  /** The file of its declaration. */
  readonly file: string;
  /** Whether a doc comment stands before the declaration. */
  readonly documented: boolean;
}

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|class|interface|type|enum) (\w+)/gm;
const LIST = /^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?/gm;
const ALL = /^export (?:type )?\* from '([^']+)'/gm;
const IMPORTS = /^import (?:type )?\{([^}]*)\} from '([^']+)'/gm;

const sources = new Map<string, string>();

function sourceOf(file: string): string {
  const text = sources.get(file) ?? readFileSync(file, 'utf8');
  sources.set(file, text);
  return text;
}

/** The names of a list such as `a, type B as C`: what each is called inside, by what it is called outside. */
function namesIn(list: string): ReadonlyMap<string, string> {
  const names = list
    .replaceAll(/\/\/.*$/gm, '')
    .split(',')
    .map((item) => item.trim().replace(/^type /, ''))
    .filter((item) => item !== '');
  return new Map(names.map((item) => item.split(' as ')).map(([inside = '', outside = inside]) => [outside, inside]));
}

/** Whether a comment for readers of the types ends right before an offset. A function may have it before any overload. */
function isDocumentedAt(text: string, at: number, name: string): boolean {
  if (/\*\/\s*$/.test(text.slice(0, at))) return true;
  return new RegExp(String.raw`\*/\s*export (?:async )?function ${name}\b`).test(text);
}

/** The public names of a module whose declarations are in the workspace. */
function namesOf(
  file: string,
  resolve: (specifier: string, from: string) => string | undefined,
): readonly PublicName[] {
  const text = sourceOf(file);
  const names: PublicName[] = [];
  for (const { 1: name = '', index } of text.matchAll(DECLARATION))
    names.push({ name, file, documented: isDocumentedAt(text, index, name) });
  for (const [, list = '', from] of text.matchAll(LIST))
    for (const [outside, inside] of namesIn(list)) {
      const found = from === undefined ? declared(file, inside, resolve) : exported(from, file, inside, resolve);
      if (found !== undefined) names.push({ ...found, name: outside });
    }
  for (const [, from = ''] of text.matchAll(ALL)) {
    const target = resolve(from, file);
    if (target !== undefined) names.push(...namesOf(target, resolve));
  }
  return names;
}

type Resolve = (specifier: string, from: string) => string | undefined;

function exported(specifier: string, from: string, name: string, resolve: Resolve): PublicName | undefined {
  const target = resolve(specifier, from);
  return target === undefined ? undefined : namesOf(target, resolve).find((each) => each.name === name);
}

/** What a module exports in a list without `from`: a declaration of its own, or something that it imported. */
function declared(file: string, name: string, resolve: Resolve): PublicName | undefined {
  const text = sourceOf(file);
  for (const [, list = '', from = ''] of text.matchAll(IMPORTS)) {
    const inside = namesIn(list).get(name);
    if (inside !== undefined) return exported(from, file, inside, resolve);
  }
  const own = new RegExp(String.raw`^(?:async )?(?:function\*?|const|class|interface|type) ${name}\b`, 'm').exec(text);
  return own === null ? undefined : { name, file, documented: isDocumentedAt(text, own.index, name) };
}

/** Every public name of every entry of a workspace, by entry, such as `@treadle/core/tools`. */
export async function publicNames(root: string): Promise<ReadonlyMap<string, readonly PublicName[]>> {
  const packages = await packagesOf(root);
  const entries = new Map(
    packages.flatMap(({ path, manifest }) =>
      Object.entries(manifest.exports ?? {}).map(
        ([entry, conditions]) =>
          [manifest.name + entry.slice(1), join(path, conditions['treadle-source'] ?? '')] as const,
      ),
    ),
  );
  const resolve: Resolve = (specifier, from) =>
    specifier.startsWith('.') ? join(from, '..', specifier) : entries.get(specifier);
  return new Map([...entries].map(([entry, file]) => [entry, namesOf(file, resolve)]));
}
