// Measures the house, and holds it to its limits: `npm run house`. It reads sources, so nothing needs to be built.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import process from 'node:process';
import { placeOf, refuseImport } from './lint/imports.ts';

const root = dirname(import.meta.dirname);
const CORE = 'packages/core/src/';

interface Import {
  readonly to: string;
  readonly isType: boolean;
}

/** What ships: neither tests nor what they share. */
const files: ReadonlyMap<string, string> = new Map(
  globSync('packages/*/src/**/*.ts', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !file.endsWith('.test.ts') && !file.includes('/test-support/'))
    .toSorted()
    .map((file) => [file, readFileSync(join(root, file), 'utf8')]),
);

/** Rows of data that a script has written. */
const isGenerated = (file: string): boolean => file.includes('/catalogue/snapshot/') && !file.endsWith('/row.ts');

const linesOf = (text: string): number => text.split('\n').length - 1;

/** Lines without blank ones and comments. */
const codeLinesOf = (text: string): number =>
  text
    .replaceAll(/\/\*.*?\*\//gs, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length;

const IMPORT = /^(?:import|export)\s+(type\s+)?(?:[^;'"]*?\sfrom\s+)?'(\.[^']+)'/gm;

/** True where a list imports types only, each marked by itself. */
const isTypeList = (statement: string): boolean => {
  const list = /\{([^}]*)\}/.exec(statement)?.[1];
  return list !== undefined && list.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
};

const importsOf = (file: string, text: string): readonly Import[] =>
  [...text.matchAll(IMPORT)].map(([statement, type, specifier = '']) => ({
    to: posix.join(posix.dirname(file), specifier),
    isType: type !== undefined || isTypeList(statement),
  }));

const imports = new Map([...files].map(([file, text]) => [file, importsOf(file, text)]));

/** A file and all that loading it loads. */
function loadedBy(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const { to, isType } of imports.get(file) ?? []) if (!isType) loadedBy(to, seen);
  return seen;
}

/** Files that load each other. */
function cycles(): readonly string[] {
  return [...files.keys()].filter((file) =>
    (imports.get(file) ?? []).some(({ to, isType }) => !isType && to !== file && loadedBy(to).has(file)),
  );
}

/** The names that a module exports, values and types. */
function namesOf(file: string): ReadonlySet<string> {
  const text = files.get(file) ?? '';
  const names = new Set<string>();
  for (const [, list = ''] of text.matchAll(/^export (?:type )?\{([^}]*)\}/gm))
    for (const name of list.split(',')) {
      const exported =
        name
          .trim()
          .replace(/^type /, '')
          .split(' as ')
          .at(-1) ?? '';
      if (exported !== '') names.add(exported);
    }
  for (const [, name = ''] of text.matchAll(
    /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|class|interface|type|enum) (\w+)/gm,
  ))
    names.add(name);
  for (const [, specifier = ''] of text.matchAll(/^export (?:type )?\* from '(\.[^']+)'/gm))
    for (const name of namesOf(posix.join(posix.dirname(file), specifier))) names.add(name);
  return names;
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((all, one) => all + one, 0);

const folders = Map.groupBy(files.keys(), (file) => posix.dirname(file));
const fullest = Math.max(...[...folders.values()].map((inside) => inside.length));
const longest = Math.max(...[...files.values()].map(linesOf));
const kernel = [...files].filter(([file]) => file.startsWith(`${CORE}kernel/`));
const refused = [...imports].flatMap(([file, all]) => {
  const place = placeOf(file);
  return all.flatMap(({ to }) => {
    const specifier = posix.relative(posix.dirname(file), to);
    const why = place && refuseImport(place, specifier.startsWith('.') ? specifier : `./${specifier}`, new Set());
    return why === null ? [] : [`${file}: ${why}`];
  });
});
const reduce = loadedBy(`${CORE}kernel/reduce.ts`);
const circular = cycles();

interface Row {
  readonly what: string;
  readonly is: number;
  readonly most: number;
  /** What to look at when there is too much. */
  readonly where?: readonly string[];
}

/** Lines of code: those of the house, and what each feature since has added. A raise is a decision: say why in the commit. */
// prettier-ignore
const LINES = {
  house: 66_000,
  mcp: 3_490,
  mcpOffers: 190,
  types: 470,
  toolSearch: 690,
  code: 445,
  catalogue: 1_500,
  clients: 1_290,
  rules: 995,
  create: 190,
  rows: 425,
  cluster: 1_270,
  skills: 520,
  terminal: 5_920,
  stores: 1_230,
  plugins: 965,
  firstrun: 1_340,
  agentSdk: 3_900,
  acp: 1_800,
  directories: 85,
  s3: 200,
  branches: 235,
};

const rows: readonly Row[] = [
  { what: 'lines of the kernel', is: sum(kernel.map(([, text]) => linesOf(text))), most: 5000 },
  {
    what: 'files in the fullest folder',
    is: fullest,
    most: 15,
    where: [...folders].filter(([, inside]) => inside.length > 15).map(([folder]) => folder),
  },
  {
    what: 'lines of the longest file',
    is: longest,
    most: 400,
    where: [...files].filter(([, text]) => linesOf(text) > 400).map(([file]) => file),
  },
  { what: 'imports that no arrow allows', is: refused.length, most: 0, where: refused },
  { what: 'files in cycles', is: circular.length, most: 0, where: circular },
  {
    what: 'lines that reduce loads, with all folds',
    is: sum([...reduce].map((file) => linesOf(files.get(file) ?? ''))),
    most: 3000,
    where: [...reduce],
  },
  { what: 'names that @treadle/core exports', is: namesOf(`${CORE}index.ts`).size, most: 120 },
  {
    what: 'lines of code in packages',
    is: sum([...files].map(([file, text]) => (isGenerated(file) ? 0 : codeLinesOf(text)))),
    most: sum(Object.values(LINES)),
  },
];

const problems: string[] = [];
for (const { what, is, most, where = [] } of rows) {
  const isOver = is > most;
  const mark = isOver ? '   TOO MANY' : '';
  console.log(`${what.padEnd(42)}${String(is).padStart(8)}   at most ${String(most).padStart(6)}${mark}`);
  if (isOver) problems.push(`${what}: ${is}, and ${most} at most.`, ...where.slice(0, 20));
  if (process.argv.includes('--where')) for (const place of where) console.log(`    ${place}`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
