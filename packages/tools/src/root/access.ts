import type { ToolAccess } from '@treadle/core/tools';
import { resolve } from 'node:path';
import { FileProblem } from './problem.ts';
import { realPath } from './real-path.ts';
import type { Root } from './root.ts';

/** What a file tool says of a call: the one path it touches, by where that really leads and as it is written. */
export async function pathAccess(
  root: Root,
  input: string,
  kind: { readonly write?: boolean; readonly recursive?: boolean },
): Promise<ToolAccess> {
  const { write = false, recursive = false } = kind;
  let given: string;
  try {
    given = resolve(root.path, root.of(input).relative(input));
  } catch (error) {
    // The tool refuses the very text of such a path, whoever allows it: there is nothing to ask for.
    if (error instanceof FileProblem) return { folder: root.path, paths: [], readOnly: true };
    throw error;
  }
  const path = await realPath(given);
  return {
    folder: root.path,
    paths: [{ path, ...(given !== path && { given }), write, ...(recursive && { recursive }) }],
    readOnly: !write,
    ...(write && { edits: true }),
  };
}

/** How a model names what lies in the further folders, as the end of a sentence. */
export const orIn = ({ directories }: Root): string =>
  directories.map(({ path }) => `, or absolute in ${path}`).join('');
