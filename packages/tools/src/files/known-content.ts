import type { ToolContext } from '@treadle/core';
import type { FileRead } from '@treadle/core/tools';
import { FileProblem } from '../root/problem.ts';
import type { FileCheck, UpdatedFile } from '../root/root.ts';
import { idOfBytes, idOfFile } from './checkpoint.ts';
import { readBytesLimit } from './read-file.ts';

/**
 * Refuses to replace a file whose content the model doesn't know: it never read it, or somebody has changed it since. So
 * nobody's work is overwritten unseen. A file that doesn't exist may be made.
 */
export function knownContent(path: string, { lastRead }: Pick<ToolContext, 'lastRead'>): FileCheck {
  return async (current, real) => {
    if (current === undefined) return;
    const known = lastRead(real);
    if (known === null && current.stats.size > readBytesLimit) {
      throw new FileProblem(
        'too_large',
        `${path} has ${current.stats.size} bytes, which is too many to be read first. Move or delete it with a command.`,
      );
    }
    if (known === null) {
      throw new FileProblem(
        'not_read',
        `${path} exists, and you haven't seen what it holds. Read it first with read_file; change it in a later reply.`,
      );
    }
    if (known !== (await idOfFile(current))) {
      throw new FileProblem(
        'changed',
        `${path} has changed since you read it. Read it again with read_file, and base your change on what it holds now.`,
      );
    }
  };
}

/** What an update tells of the file: the model knows what it holds now. */
export const readOfUpdate = ({ real, content }: UpdatedFile): readonly FileRead[] => [
  { path: real, hash: idOfBytes(content), written: true },
];
