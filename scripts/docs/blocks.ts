// Code blocks of the documentation, and what each is for. A block whose kind nobody knows is an error: nothing in the
// docs goes unchecked by accident.

/** What is done with a block. `ci`: `.ci/run` executes it. `output`: what the block before it prints. */
export type BlockKind = 'module' | 'shell' | 'ci' | 'json' | 'output' | 'shown';

export interface Block {
  /** The file and line where it begins, such as `README.md:12`. */
  readonly where: string;
  readonly kind: BlockKind;
  readonly text: string;
}

/** The words after a fence, and what they mean. */
const KINDS: ReadonlyMap<string, BlockKind> = new Map([
  ['ts', 'module'],
  ['sh', 'shell'],
  ['bash', 'shell'],
  ['sh ci', 'ci'],
  ['bash ci', 'ci'],
  ['json', 'json'],
  ['text output', 'output'],
  ['text', 'shown'],
]);

function kindOf(info: string, where: string): BlockKind {
  const kind = KINDS.get(info.trim().replaceAll(/\s+/g, ' '));
  if (kind !== undefined) return kind;
  const known = [...KINDS.keys()].join(', ');
  throw new Error(`${where}: a code block must say what it is. Known: ${known}. Found: '${info.trim()}'.`);
}

/** The fenced code blocks of a Markdown text, in order. Throws on an unknown kind and on a fence that is never closed. */
export function blocksOf(markdown: string, file: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { fence: string; indent: number; info: string; where: string; lines: string[] } | null = null;
  for (const [index, line] of markdown.split(/\r?\n/).entries()) {
    if (open === null) {
      const start = /^(\s*)(`{3,}|~{3,})(.*)$/.exec(line);
      if (start === null) continue;
      const [, indent = '', fence = '', info = ''] = start;
      open = { fence, indent: indent.length, info, where: `${file}:${String(index + 1)}`, lines: [] };
    } else if (line.trim().startsWith(open.fence) && /^(`+|~+)$/.test(line.trim())) {
      blocks.push({ where: open.where, kind: kindOf(open.info, open.where), text: `${open.lines.join('\n')}\n` });
      open = null;
    } else {
      const blank = line.slice(0, open.indent).trim() === '';
      open.lines.push(blank ? line.slice(open.indent) : line);
    }
  }
  if (open !== null) throw new Error(`${open.where}: this code block is never closed.`);
  return blocks;
}

const withoutBlocks = (markdown: string): string => markdown.replaceAll(/^(`{3,})[^]*?^\1/gm, '');

/** Where the links of a Markdown text lead, outside of code, anchors included. Addresses on the web are left out. */
export function targetsOf(markdown: string): readonly string[] {
  const prose = withoutBlocks(markdown).replaceAll(/`[^`\n]*`/g, 'code');
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

/** The files that a Markdown text links to. */
export const linksOf = (markdown: string): readonly string[] =>
  targetsOf(markdown).flatMap((target) => target.replace(/#.*$/, '') || []);

/** The anchors of a Markdown text's headings, as GitHub makes them. */
export function anchorsOf(markdown: string): readonly string[] {
  const headings = [...withoutBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** The `ts` examples in the doc comments of a source, as blocks. Other kinds in comments are only shown. */
export function examplesOf(source: string, file: string): readonly Block[] {
  const examples: Block[] = [];
  for (const comment of source.matchAll(/^[ \t]*\/\*\*[\s\S]*?\*\//gm)) {
    const line = source.slice(0, comment.index).split('\n').length;
    const text = comment[0].replaceAll(/^[ \t]*\* ?/gm, '').replaceAll(/^[ \t]*\/\*\*/g, '');
    const fence = /^```ts\n([\s\S]*?)^```/gm;
    for (const found of text.matchAll(fence)) {
      const at = line + text.slice(0, found.index).split('\n').length - 1;
      examples.push({ where: `${file}:${String(at)}`, kind: 'module', text: found[1] ?? '' });
    }
  }
  return examples;
}

/** A block that is executed, with what it must print when the docs say so. */
export interface Runnable {
  readonly block: Block;
  readonly output: string | null;
}

/** Joins each block that is executed with the `output` block after it. Throws on output that follows nothing. */
export function runnables(blocks: readonly Block[]): readonly Runnable[] {
  const result: Runnable[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.kind === 'module' || block.kind === 'shell') {
      const next = blocks[index + 1];
      result.push({ block, output: next?.kind === 'output' ? next.text : null });
    } else if (block.kind === 'output') {
      const before = blocks[index - 1]?.kind;
      if (before !== 'module' && before !== 'shell') {
        throw new Error(`${block.where}: this output follows no block that is executed.`);
      }
    }
  }
  return result;
}

/**
 * What a program says it prints, in the comment `/* Output:` at its very end.
 *
 * @throws Error when it has no such comment: nothing that is run goes unchecked by accident.
 */
export function outputIn(source: string, file: string): string {
  const shown = /\n\/\* Output:\n([^]*?)\n\*\/\s*$/.exec(source)?.[1];
  if (shown === undefined) throw new Error(`${file}: it must end with a comment that begins with '/* Output:'.`);
  return `${shown}\n`;
}

const withoutTrailingSpace = (text: string): string => text.replaceAll(/[ \t]+$/gm, '').trim();

/**
 * Whether a text is the output that the docs show, but for space at the ends of lines. `…` there stands for anything: an
 * id, a time, more lines.
 */
export function matchesOutput(shown: string, printed: string): boolean {
  const pattern = withoutTrailingSpace(shown)
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join(String.raw`[\s\S]*?`);
  return new RegExp(`^${pattern}$`).test(withoutTrailingSpace(printed));
}
