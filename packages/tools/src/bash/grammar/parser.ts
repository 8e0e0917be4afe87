import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Language, Parser, type Tree } from 'web-tree-sitter';

const require = createRequire(import.meta.url);

/**
 * How often a parse may report progress before it is given up. A report comes every hundred steps of the parser or so;
 * commands of the greatest length need a fraction of this, and steps, unlike time, are the same on every machine.
 */
const mostReports = 100_000;

let loading: Promise<Parser> | undefined;

/** Parses text as bash. Undefined when the parser gives up. Delete the tree after use: its memory is not collected. */
export async function parseBash(text: string): Promise<Tree | undefined> {
  const parser = await (loading ??= load());
  let reports = 0;
  const progressCallback = (): boolean => {
    reports += 1;
    return reports > mostReports;
  };
  const tree = parser.parse(text, null, { progressCallback });
  if (tree !== null) return tree;
  // A parse that was given up would otherwise go on with the next text.
  parser.reset();
  return undefined;
}

async function load(): Promise<Parser> {
  await Parser.init();
  const parser = new Parser();
  parser.setLanguage(await Language.load(grammarFile()));
  return parser;
}

/** A built package has a copy beside this file; the sources take it from the package that it comes in. */
function grammarFile(): string {
  const beside = fileURLToPath(new URL('./tree-sitter-bash.wasm', import.meta.url));
  return existsSync(beside) ? beside : require.resolve('tree-sitter-bash/tree-sitter-bash.wasm');
}
