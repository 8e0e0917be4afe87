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
