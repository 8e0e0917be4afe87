import { checkpointing } from './checkpoint.ts';
import type { ToolContext, ToolResult } from '@treadle/core';
import type { OpenedFile } from '../root/open.ts';
import { FileProblem } from '../root/problem.ts';
import type { Root } from '../root/root.ts';
import { isUtf8, sniff } from '../text/decode.ts';
import { describeChange } from '../text/diff.ts';
import { knownContent, readOfUpdate } from './known-content.ts';
import { unifyLineEnds } from './line-ends.ts';
import { nearMatchHint } from './near-match.ts';
import { withNearNames } from './near-names.ts';
import { stopIfAborted, withProblems } from './outcome.ts';
import { readAt } from './read-file.ts';
import { replaceOnce } from './replace-text.ts';

export interface EditFileArguments {
  readonly path: string;
  readonly old_text: string;
  readonly new_text: string;
}

const byteOrderMark = '\ufeff';

export function editFile(
  root: Root,
  args: EditFileArguments,
  context: ToolContext,
  maxBytes: number,
): Promise<ToolResult> {
  return withProblems(async () => {
    const { signal } = context;
    const path = root.relative(args.path);
    stopIfAborted(signal, `Editing ${path}`);
    checkTexts(args);
    let before = '';
    let after = '';
    const change = async (file: OpenedFile | undefined): Promise<Uint8Array> => {
      if (file === undefined) throw new FileProblem('not_found', `${path} does not exist.`);
      before = await readUtf8(file, maxBytes, signal);
      after = replaced(path, before, args);
      return Buffer.from(after, 'utf8');
    };
    const check = knownContent(path, context);
    const update = { create: false, signal, check, ...checkpointing(root, context) };
    const updated = await withNearNames(root, args.path, () => root.update(args.path, change, update));
    const { diff, ...lines } = describeChange(path, before, after);
    return {
      content: `Edited ${path} at line ${lines.firstChangedLine}.\n${diff === '' ? 'Only the final newline changed.' : diff}`,
      details: { path, bytes: updated.content.length, ...lines, diff },
      reads: readOfUpdate(updated),
    };
  });
}

export function checkTexts(args: Pick<EditFileArguments, 'old_text' | 'new_text'>): void {
  if (args.old_text === '') {
    throw new FileProblem(
      'bad_request',
      'old_text is empty. Give the text to replace, or use write_file for a new file.',
    );
  }
  if (args.old_text === args.new_text) {
    throw new FileProblem('bad_request', 'old_text and new_text are the same: there is nothing to change.');
  }
}

export function replaced(path: string, text: string, args: EditFileArguments): string {
  // The mark is not part of the first line, neither for a match nor for what replaces it.
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : '';
  const body = text.slice(mark.length);
  const outcome = replaceOnce(body, args.old_text, args.new_text);
  if (outcome.kind === 'ambiguous') {
    const more = outcome.count > outcome.lines.length ? ', …' : '';
    throw new FileProblem(
      'many_matches',
      `old_text occurs ${outcome.count} times in ${path}, at lines ${outcome.lines.join(', ')}${more}. ` +
        'Add lines around it until it is unique.',
    );
  }
  if (outcome.kind === 'missing') {
    const hint = nearMatchHint(unifyLineEnds(body).text, args.old_text.replaceAll('\r\n', '\n'));
    throw new FileProblem('no_match', `old_text does not occur in ${path}. ${hint}`);
  }
  if (outcome.text === body) {
    throw new FileProblem(
      'bad_request',
      `The edit would leave ${path} as it is: only line ends differ, which are kept.`,
    );
  }
  return mark + outcome.text;
}

/** The whole file, its byte order mark included; refuses what would not come back byte for byte. */
export async function readUtf8(file: OpenedFile, maxBytes: number, signal: AbortSignal): Promise<string> {
  const { path } = file;
  if (file.stats.size > maxBytes) {
    throw new FileProblem('too_large', `${path} has ${file.stats.size} bytes; edit_file takes up to ${maxBytes}.`);
  }
  const bytes = await readAt(file, 0, maxBytes, signal);
  const sniffed = sniff(bytes, true);
  if (sniffed.kind === 'binary')
    throw new FileProblem('binary', `${path} is a binary file; edit_file changes text only.`);
  if (sniffed.encoding === 'utf-16le' || sniffed.encoding === 'utf-16be') {
    throw new FileProblem(
      'encoding',
      `${path} is ${sniffed.encoding.toUpperCase()}; edit_file changes UTF-8 only. Convert it first (for example with iconv).`,
    );
  }
  if (!isUtf8(bytes, true)) {
    throw new FileProblem(
      'encoding',
      `${path} is not valid UTF-8 (perhaps Latin-1); edit_file would damage it. Convert it first (for example with iconv).`,
    );
  }
  return bytes.toString('utf8');
}
