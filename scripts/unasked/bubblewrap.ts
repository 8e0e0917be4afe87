// The same program where bubblewrap works, where it is not installed, and where the system forbids what it needs.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { getuid } from 'node:process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Bubblewrap = 'working' | 'missing' | 'forbidden';

/** What bubblewrap says on a system that allows no namespaces. */
export const forbiddenWords = 'bwrap: No permissions to create new namespace';

/** The command line that runs `command` so. Another program is mounted over bubblewrap, for that command alone. */
export function withBubblewrap(kind: Bubblewrap, command: readonly string[]): string[] {
  if (kind === 'working') return [...command];
  const program = execFileSync('/bin/sh', ['-c', 'command -v bwrap'], { encoding: 'utf8' }).trim();
  const script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
  const [other, ...rest] = [kind === 'missing' ? '/dev/null' : forbidding(), program, ...command];
  return ['unshare', getuid?.() === 0 ? '-m' : '-rm', '/bin/sh', '-c', script, 'sh', other, ...rest];
}

function forbidding(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'treadle-bwrap-')), 'bwrap');
  writeFileSync(file, `#!/bin/sh\necho "${forbiddenWords}" >&2\nexit 1\n`, { mode: 0o755 });
  return file;
}
