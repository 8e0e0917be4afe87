/** The calls of a file system that are counted, and that can fail. */
export type DiskCall =
  | 'open'
  | 'read'
  | 'write'
  | 'truncate'
  | 'datasync'
  | 'sync'
  | 'stat'
  | 'close'
  | 'readFile'
  | 'writeFile'
  | 'copyFile'
  | 'link'
  | 'rename'
  | 'unlink'
  | 'rm'
  | 'mkdir'
  | 'readdir';

/** An error as the operating system's calls have it. */
export const diskError = (code: string, call: DiskCall, path: string): Error & { readonly code: string } =>
  Object.assign(new Error(`${code}: simulated, ${call} '${path}'`), { code });
