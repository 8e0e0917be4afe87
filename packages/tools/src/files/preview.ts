import type { JsonObject } from '@treadle/core';
import { MB } from '../options.ts';
import { FileProblem } from '../root/problem.ts';
import { asRoot, type Root } from '../root/root.ts';
import { describeChange } from '../text/diff.ts';
import { readUtf8, replaced } from './edit-file.ts';

/** Larger files are not read for a look at a change. */
const MAX_BYTES = 10 * MB;

/**
 * What a call of `edit_file` or `write_file` would change, as a unified diff with three lines of context, for somebody who
 * is to allow it. Nothing of the changed lines is cut or escaped. Null for any other call, and where a diff can't show all
 * of the change: the call would fail, the file is binary, or only line ends differ.
 *
 * @param folder the root of the file tools: its path, or the root that they share
 * @example
 * ```ts
 * import { previewChange } from '@treadle/tools';
 * import { mkdtemp, writeFile } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 *
 * const folder = await mkdtemp(join(tmpdir(), 'preview-'));
 * await writeFile(join(folder, 'notes.md'), 'milk\n');
 * const diff = await previewChange(folder, 'edit_file', { path: 'notes.md', old_text: 'milk', new_text: 'tea' });
 * console.log(diff?.includes('\n-milk\n+tea')); // true
 * ```
 */
export async function previewChange(folder: string | Root, toolName: string, args: JsonObject): Promise<string | null> {
  const { path, content, old_text: oldText, new_text: newText } = args;
  if (typeof path !== 'string') return null;
  const root = asRoot(folder).of(path);
  try {
    if (toolName === 'write_file' && typeof content === 'string') {
      return diffOf(root.relative(path), (await textOf(root, path)) ?? '', content);
    }
    if (toolName !== 'edit_file' || typeof oldText !== 'string' || typeof newText !== 'string') return null;
    if (oldText === '') return null;
    const before = await textOf(root, path);
    if (before === null) return null;
    return diffOf(
      root.relative(path),
      before,
      replaced(root.relative(path), before, { path, old_text: oldText, new_text: newText }),
    );
  } catch (error) {
    if (error instanceof FileProblem) return null;
    throw error;
  }
}

/** A diff doesn't tell line ends apart. */
function diffOf(path: string, before: string, after: string): string | null {
  if (after.includes('\r') !== before.includes('\r')) return null;
  const { diff } = describeChange(path, before, after, true);
  return diff === '' ? null : diff;
}

/** Null where there is no file yet. */
async function textOf(root: Root, path: string): Promise<string | null> {
  try {
    const file = await root.open(path);
    try {
      return await readUtf8(file, MAX_BYTES, new AbortController().signal);
    } finally {
      await file.handle.close();
    }
  } catch (error) {
    if (error instanceof FileProblem && error.code === 'not_found') return null;
    throw error;
  }
}
