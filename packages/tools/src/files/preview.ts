import type { JsonObject } from '@treadle/core';
import { MB } from '../options.ts';
import { FileProblem } from '../root/problem.ts';
import { asRoot, type Root } from '../root/root.ts';
import { describeChange } from '../text/diff.ts';
import { checkTexts, readUtf8, replaced } from './edit-file.ts';

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
  const change = await changeOf(folder, toolName, args);
  return typeof change === 'object' && change !== null ? diffOf(change.path, change.before, change.after) : null;
}

/**
 * Why a call of `edit_file` can't change the file as it is now, for somebody who is to allow it. Null for a call that can,
 * and for any other tool. It looks at the text alone: whether the model has read the file is not asked.
 *
 * @param folder the root of the file tools: its path, or the root that they share
 * @example
 * ```ts
 * import { changeProblem } from '@treadle/tools';
 * import { mkdtemp, writeFile } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 *
 * const folder = await mkdtemp(join(tmpdir(), 'problem-'));
 * await writeFile(join(folder, 'notes.md'), 'tea and tea');
 * const problem = await changeProblem(folder, 'edit_file', { path: 'notes.md', old_text: 'tea', new_text: 'milk' });
 * console.log(problem?.startsWith('old_text occurs 2 times in notes.md')); // true
 * ```
 */
export async function changeProblem(folder: string | Root, toolName: string, args: JsonObject): Promise<string | null> {
  const change = await changeOf(folder, toolName, args);
  return typeof change === 'string' ? change : null;
}

interface Change {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** What a call would change, or why it would fail; null for any other call. */
async function changeOf(folder: string | Root, toolName: string, args: JsonObject): Promise<Change | string | null> {
  const { path: given, content, old_text, new_text } = args;
  if (typeof given !== 'string') return null;
  try {
    const root = asRoot(folder).of(given);
    const path = root.relative(given);
    if (toolName === 'write_file' && typeof content === 'string') {
      return { path, before: (await textOf(root, given)) ?? '', after: content };
    }
    if (toolName !== 'edit_file' || typeof old_text !== 'string' || typeof new_text !== 'string') return null;
    checkTexts({ old_text, new_text });
    const before = await textOf(root, given);
    if (before === null) return `${path} does not exist.`;
    return { path, before, after: replaced(path, before, { path, old_text, new_text }) };
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    return toolName === 'edit_file' && OF_THE_TEXT.has(error.code) ? error.message : null;
  }
}

/** Problems that no right to another folder solves. */
const OF_THE_TEXT: ReadonlySet<string> = new Set([
  'bad_request',
  'binary',
  'encoding',
  'many_matches',
  'no_match',
  'too_large',
]);

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
