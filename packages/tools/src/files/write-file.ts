import type { ToolContext, ToolResult } from '@treadle/core';
import type { Root } from '../root/root.ts';
import { checkpointing } from './checkpoint.ts';
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
    const updated = await root.update(args.path, () => bytes, update);
    const { path, created } = updated;
    return {
      content: `${created ? 'Created' : 'Overwrote'} ${path}: ${counted(bytes.length, 'byte')}.`,
      details: { path, bytes: bytes.length, created },
      reads: readOfUpdate(updated),
    };
  });
}
