/** Why a file operation was refused or failed. Stable: programs may branch on it. */
export type FileProblemCode =
  | 'bad_path'
  | 'outside_root'
  | 'not_found'
  | 'is_directory'
  | 'not_directory'
  | 'not_regular'
  | 'hard_link'
  | 'changed'
  | 'not_read'
  | 'too_large'
  | 'binary'
  | 'encoding'
  | 'bad_request'
  | 'no_match'
  | 'many_matches'
  | 'denied'
  | 'sandbox'
  | 'aborted'
  | 'io';

/** A refusal or failure whose message is written for the model. Tools turn it into an error result. */
export class FileProblem extends Error {
  readonly code: FileProblemCode;

  constructor(code: FileProblemCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'FileProblem';
    this.code = code;
  }
}

/** The `code` of a Node system error, such as `ENOENT`; undefined for anything else. */
export function errnoOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** The result of `work`; undefined when it fails with one of these codes of the system, or, without any, with whichever. */
export async function unless<Value>(work: Promise<Value>, ...codes: readonly string[]): Promise<Value | undefined> {
  try {
    return await work;
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined || (codes.length > 0 && !codes.includes(code))) throw error;
    return undefined;
  }
}

/** What a path that leads nowhere fails with. */
export const MISSING: readonly string[] = ['ENOENT', 'ENOTDIR'];

const reasons: Readonly<Record<string, readonly [FileProblemCode, string]>> = {
  ENOENT: ['not_found', 'does not exist'],
  ENOTDIR: ['not_directory', 'lies below something that is not a directory'],
  EISDIR: ['is_directory', 'is a directory'],
  EACCES: ['io', 'can not be accessed: permission denied'],
  EPERM: ['io', 'can not be changed: operation not permitted'],
  EROFS: ['io', 'is on a read-only file system'],
  ENOSPC: ['io', 'was not written: no space is left on the disk'],
  EDQUOT: ['io', 'was not written: the disk quota is used up'],
  EIO: ['io', 'failed with an input/output error'],
  ENAMETOOLONG: ['bad_path', 'has a name that is too long'],
  EMFILE: ['io', 'could not be opened: too many open files'],
  ELOOP: ['changed', 'was replaced by a symbolic link while it was being opened'],
};

/** A problem for `path` made from what a file-system call threw. Problems pass through; strangers stay what they are. */
export function problemFrom(thrown: unknown, path: string): unknown {
  if (thrown instanceof FileProblem) return thrown;
  const errno = errnoOf(thrown);
  if (errno === undefined) return thrown;
  const [code, reason] = reasons[errno] ?? ['io', `failed (${errno})`];
  return new FileProblem(code, `${path} ${reason}.`, thrown);
}
