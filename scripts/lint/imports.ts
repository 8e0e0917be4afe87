// The arrows of the house as a lint rule: which package may import which, and inside core, which room.
// `docs/architecture.md` says why each arrow is there; this table is what holds.

import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';

interface Arrows {
  /** Workspace packages that sources of this one may import. */
  readonly packages: readonly string[];
  /** Whether sources may import Node's own modules. */
  readonly node: boolean;
}

const CORE = '@treadle/core';
const HTTP = '@treadle/http';

/** Per folder of `packages/`. A package that isn't listed here fails the lint, so that nobody adds one without arrows. */
const ARROWS: Readonly<Record<string, Arrows>> = {
  core: { packages: [], node: false },
  models: { packages: [CORE], node: true },
  http: { packages: [CORE], node: true },
  tools: { packages: [CORE, HTTP], node: true },
  openapi: { packages: [CORE, HTTP], node: true },
  mcp: { packages: [CORE], node: true },
  skills: { packages: [CORE, '@treadle/tools'], node: true },
  code: { packages: [CORE], node: true },
  store: { packages: [CORE], node: true },
  server: { packages: [CORE], node: true },
  formats: { packages: [CORE, '@treadle/server'], node: false },
  client: { packages: [CORE], node: false },
  otel: { packages: [CORE], node: false },
  testing: { packages: [CORE], node: true },
  treadle: {
    packages: [
      CORE,
      '@treadle/client',
      '@treadle/formats',
      '@treadle/mcp',
      '@treadle/models',
      '@treadle/otel',
      '@treadle/skills',
      '@treadle/tools',
      '@treadle/store',
      '@treadle/server',
    ],
    node: true,
  },
  'create-treadle': { packages: [], node: true },
};

/** What test files may import on top: never what ships. */
const TESTING = '@treadle/testing';
const TESTED_WITH: Readonly<Record<string, readonly string[]>> = {
  client: ['@treadle/server', '@treadle/store'],
  code: ['@treadle/store'],
  mcp: ['@treadle/models', '@treadle/store'],
  server: ['@treadle/store'],
  store: ['@treadle/models'],
};

/** The kernel's two lists: the only files of it that name features. */
const LISTS: ReadonlySet<string> = new Set(['kernel/features.ts', 'kernel/folds.ts']);

/** Folders of core that know nothing of the kernel and its features. Projections may use the kernel's types. */
const VOCABULARY: ReadonlySet<string> = new Set([
  'events',
  'journal',
  'json-schema',
  'messages',
  'model',
  'names',
  'ports',
  'tools',
]);

/** Where a source file lives: its package's folder, and its path below that package's `src`. */
interface Place {
  readonly folder: string;
  /** With forward slashes, such as `kernel/plan.ts`. */
  readonly path: string;
  readonly isTest: boolean;
}

/** What tests share lies in `test-support/` and is neither built nor shipped. */
const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.startsWith('test-support/');

/** The place of a file given relative to the repository's root, or null when it isn't a source of a package. */
export function placeOf(file: string): Place | null {
  const match = /^packages\/([^/]+)\/src\/(.+)$/.exec(file);
  if (match?.[1] === undefined || match[2] === undefined) return null;
  return { folder: match[1], path: match[2], isTest: isTest(match[2]) };
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function refuseRelative(place: Place, specifier: string): string | null {
  const target = posix.join(posix.dirname(place.path), specifier);
  if (target.startsWith('..')) {
    return `'${specifier}' leaves the sources of packages/${place.folder}. Import a package by its name.`;
  }
  return place.folder === 'core' && !place.isTest ? refuseRoom(place.path, target) : null;
}

/** Why one file of core may not import another; null when it may. */
function refuseRoom(from: string, to: string): string | null {
  const [room = ''] = from.split('/');
  const feature = featureOf(from);
  const other = featureOf(to);
  if (feature !== null && other !== null && feature !== other)
    return `The feature '${feature}' must not import the feature '${other}'. What several features need is a kernel service.`;
  if (room === 'kernel' && other !== null && !LISTS.has(from))
    return `The kernel names features only in kernel/features.ts and kernel/folds.ts, and this is '${other}'.`;
  if ((feature !== null || room === 'kernel') && /^(session|history)\//.test(to))
    return `'${from}' must not import '${to}': sessions and their history are built on the kernel and its features.`;
  const isInner = /^(kernel|features|session|history|agent)\//.test(to);
  if (VOCABULARY.has(room) && isInner) return `The vocabulary '${room}' must not import '${to}', which is built on it.`;
  return null;
}

const featureOf = (path: string): string | null => /^features\/([^/]+)\//.exec(path)?.[1] ?? null;

/**
 * Why a file may not import something, or null when it may.
 *
 * @param declared names of the packages that the importing package's manifest depends on
 */
export function refuseImport(place: Place, specifier: string, declared: ReadonlySet<string>): string | null {
  if (specifier.startsWith('.')) return refuseRelative(place, specifier);
  const arrows = ARROWS[place.folder];
  if (arrows === undefined) return `packages/${place.folder} has no arrows: add it to scripts/lint/imports.ts.`;
  const name = packageName(specifier);
  const isWorkspace = name === 'treadle' || name.startsWith('@treadle/');
  if (isWorkspace) {
    if (arrows.packages.includes(name) || (place.isTest && name === TESTING)) return null;
    if (place.isTest && TESTED_WITH[place.folder]?.includes(name)) return null;
    const allowed = arrows.packages.length === 0 ? 'no other package' : arrows.packages.join(', ');
    return `packages/${place.folder} may import ${allowed}, not '${name}'.`;
  }
  if (place.isTest) return null;
  if (isBuiltin(specifier)) {
    return arrows.node
      ? null
      : `packages/${place.folder} runs anywhere: it must not import '${specifier}'. Use a port.`;
  }
  return declared.has(name) ? null : `'${name}' is not a dependency in packages/${place.folder}/package.json.`;
}

const manifests = new Map<string, ReadonlySet<string>>();

function declaredBy(root: string, folder: string): ReadonlySet<string> {
  const known = manifests.get(folder);
  if (known !== undefined) return known;
  const file = join(root, 'packages', folder, 'package.json');
  const names = new Set<string>();
  if (existsSync(file)) {
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<string, string> | undefined>;
    for (const field of ['dependencies', 'peerDependencies', 'optionalDependencies']) {
      for (const name of Object.keys(manifest[field] ?? {})) names.add(name);
    }
  }
  manifests.set(folder, names);
  return names;
}

/** As much of a syntax node as the rule reads. */
interface Node {
  readonly type: string;
  readonly value?: unknown;
}
interface Importing extends Node {
  readonly source: Node | null;
}
interface Context {
  readonly cwd: string;
  readonly filename: string;
  report(problem: { readonly node: Node; readonly message: string }): void;
}

const rule = {
  meta: { type: 'problem', docs: { description: 'Only the arrows of the house are imported.' } },
  create(context: Context) {
    const file = posix.relative(context.cwd.replaceAll('\\', '/'), context.filename.replaceAll('\\', '/'));
    const place = placeOf(file);
    if (place === null) return {};
    const check = (node: Importing): void => {
      if (node.source === null) return;
      const problem =
        typeof node.source.value === 'string'
          ? refuseImport(place, node.source.value, declaredBy(context.cwd, place.folder))
          : place.isTest
            ? null
            : 'An import that is computed can not be checked.';
      if (problem !== null) context.report({ node: node.source, message: problem });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    };
  },
};

export default { meta: { name: 'house' }, rules: { imports: rule } };
