// Counts the programs of docs/comparison.md: those of `examples/`, and the same ones for other libraries in `compat/peers/`.
// `node scripts/comparison.ts` writes the tables into the page, and scripts/comparison.test.ts checks them.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const PAGE = join(root, 'docs/comparison.md');

const PROGRAMS = ['support', 'coding', 'research', 'resume', 'chat-route'];

interface Library {
  readonly title: string;
  readonly folder: string;
  /** The packages that are the library. */
  readonly packages: RegExp;
}

const LIBRARIES: readonly Library[] = [
  { title: 'Treadle', folder: 'examples/programs', packages: /^(?:@treadle\/|treadle\b)/ },
  { title: 'AI SDK', folder: 'compat/peers/ai-sdk', packages: /^(?:ai$|@ai-sdk\/)/ },
  { title: 'OpenAI Agents', folder: 'compat/peers/openai-agents', packages: /^@openai\// },
  { title: 'pi', folder: 'compat/peers/pi', packages: /^@earendil-works\// },
];

/** What is counted of a program: neither comments, nor a scripted model between `// #region` and `// #endregion`. */
export function codeOf(source: string): string {
  return source
    .replaceAll(/^\s*\/\/ #region[^]*?^\s*\/\/ #endregion.*$/gm, '')
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('//'))
    .join('\n');
}

export const linesOf = (source: string): number => codeOf(source).split('\n').length;

/** The names that a program imports from packages. Each is something to know. */
export function conceptsOf(source: string, packages: RegExp): readonly string[] {
  const imports = codeOf(source).matchAll(/^import (?:type )?\{([^}]*)\} from '([^']+)';/gm);
  const names = [...imports]
    .filter(([, , from = '']) => packages.test(from))
    .flatMap(([, list = '']) => list.split(','));
  return [...new Set(names.map((name) => name.trim().replace(/^type /, '')).filter((name) => name !== ''))];
}

function cellOf({ folder, packages }: Library, program: string): string {
  const file = join(root, folder, `${program}.ts`);
  if (!existsSync(file)) return '–';
  const source = readFileSync(file, 'utf8');
  return `${String(linesOf(source))} / ${String(conceptsOf(source, packages).length)}`;
}

/** The table of lines and concepts, as the page has it. */
export function table(): string {
  const head = `| program | ${LIBRARIES.map(({ title }) => title).join(' | ')} |`;
  const rule = `| --- |${' --- |'.repeat(LIBRARIES.length)}`;
  const rows = PROGRAMS.map((program) => {
    const cells = LIBRARIES.map((library) => cellOf(library, program));
    return `| \`${program}.ts\` | ${cells.join(' | ')} |`;
  });
  return [head, rule, ...rows].join('\n');
}

const TABLE = /(<!-- lines \/ concepts -->\n+)(\|[^]*?)(\n+<!-- end -->)/;

/** The table that the page has, without the padding of its cells. */
export function tableInPage(): string {
  const [, , found = ''] = TABLE.exec(readFileSync(PAGE, 'utf8')) ?? [];
  return found.replaceAll(/-{3,}/g, '---').replaceAll(/ +\|/g, ' |');
}

if (import.meta.main) {
  const page = readFileSync(PAGE, 'utf8');
  writeFileSync(
    PAGE,
    page.replace(TABLE, (_all, before: string, _old: string, after: string) => before + table() + after),
  );
}
