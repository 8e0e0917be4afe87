import { readdir, readFile } from 'node:fs/promises';

/** A process whose environment shows secrets to other processes of the same user. */
export interface ShowingProcess {
  readonly pid: number;
  /** What the system calls it, such as `bash`. */
  readonly name: string;
  /** The names of the secrets that it shows. */
  readonly secrets: readonly string[];
}

/**
 * The processes that show any of these secrets in `/proc/PID/environ`, as far as this process may look: what a command that
 * runs without a sandbox can read. Null where there is no `/proc`.
 *
 * @param secrets values by name
 */
export async function processesShowing(
  secrets: Readonly<Record<string, string>>,
): Promise<readonly ShowingProcess[] | null> {
  let entries: readonly string[];
  try {
    entries = await readdir('/proc');
  } catch {
    return null;
  }
  const pids = entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
  if (pids.length === 0) return null;
  const values = Object.entries(secrets);
  const found: ShowingProcess[] = [];
  for (const pid of pids) {
    // Gone by now, or another user's.
    const environment = await readFile(`/proc/${pid}/environ`).catch(() => null);
    const names = environment ? values.filter(([, value]) => environment.includes(value)).map(([name]) => name) : [];
    if (names.length === 0) continue;
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    found.push({ pid, name: name.trim(), secrets: names });
  }
  return found;
}
