import type { ToolContext, ToolResult } from '@treadle/core';
import type { OpenedFile } from '../root/open.ts';
import { FileProblem } from '../root/problem.ts';
import type { Root } from '../root/root.ts';
import { describeChange } from '../text/diff.ts';
import { checkpointing } from './checkpoint.ts';
import { readUtf8 } from './edit-file.ts';
import { knownContent, readOfUpdate } from './known-content.ts';
import { counted, stopIfAborted, withProblems } from './outcome.ts';

export interface WriteFileArguments {
  readonly path: string;
  readonly content: string;
}

export function writeFile(root: Root, args: WriteFileArguments, context: ToolContext): Promise<ToolResult> {
  return withProblems(async () => {
    const { signal } = context;
    stopIfAborted(signal, `Writing ${root.relative(args.path)}`);
    // Encoding replaces lone surrogates by U+FFFD, so what is written is always UTF-8.
    const bytes = Buffer.from(args.content, 'utf8');
    const check = knownContent(root.relative(args.path), context);
    const update = { create: true, signal, check, ...checkpointing(root, context) };
    let before: string | null = null;
    const change = async (file: OpenedFile | undefined): Promise<Uint8Array> => {
      before = file === undefined ? null : await textOf(file, signal);
      return bytes;
    };
    const updated = await root.update(args.path, change, update);
    const { path, created } = updated;
    return {
      content: `${created ? 'Created' : 'Overwrote'} ${path}: ${counted(bytes.length, 'byte')}.`,
      details: {
        path,
        bytes: bytes.length,
        created,
        ...(before === null ? {} : describeChange(path, before, bytes.toString('utf8'))),
      },
      reads: readOfUpdate(updated),
    };
  });
}

/** What is replaced in a larger file is not shown. */
const MOST_SHOWN = 1_000_000;

/** The text of a file that is replaced; null for one that is none, or that is too large for a diff. */
async function textOf(file: OpenedFile, signal: AbortSignal): Promise<string | null> {
  try {
    return await readUtf8(file, MOST_SHOWN, signal);
  } catch (error) {
    if (error instanceof FileProblem) return null;
    throw error;
  }
}
