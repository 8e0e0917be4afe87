import { errorText } from '@treadle/core';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { confineCommand, type WrapOptions } from './wrap.ts';

/** Whether commands can be confined to reading. A probe has seen it refuse a write, a read, a socket and a secret. */
export interface ReadingStatus {
  readonly works: boolean;
  /** Why it doesn't, in words for a person; null when it does. */
  readonly reason: string | null;
}

const timeoutMs = 10_000;
const mark = 'tried:';
const secretVariable = 'TREADLE_PROBE_KEY';

/** Tries what a command that only reads must not do, and prints what it could. Its `/tmp` is its own, so the caller looks there. */
const script = `
could=
(echo x > new) 2>/dev/null && could="$could write"
(echo x > "$1/new") 2>/dev/null
[ "$(cat "$1/outside" 2>/dev/null)" = "$2" ] && could="$could read"
(exec 3<>"/dev/tcp/127.0.0.1/$3") 2>/dev/null && could="$could socket"
grep -aqs "$2" /proc/self/environ /proc/[0-9]*/environ && could="$could secret"
[ "$(cat inside)" = "$2" ] && echo "${mark}$could"`;

const everything = 'write read socket secret';

/**
 * Runs the same attempts twice: free, where each must succeed, and confined, where each must fail. So a machine on which an
 * attempt fails for a reason of its own doesn't count as confined.
 */
export async function probeReading(options: Omit<WrapOptions, 'root'>): Promise<ReadingStatus> {
  const fails = (reason: string): ReadingStatus => ({ works: false, reason });
  const { parts, clock } = options;
  const shell = await parts.find('bash');
  if (shell === undefined) return fails('bash is missing, with which it is tried out');
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'treadle-reading-')));
  const listener = createServer((socket) => socket.destroy());
  try {
    const root = join(folder, 'root');
    const secret = randomUUID();
    await mkdir(root);
    await writeFile(join(root, 'inside'), secret);
    await writeFile(join(folder, 'outside'), secret);
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const command = [shell, '-c', script, 'bash', folder, secret, String(port)];
    const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', [secretVariable]: secret };
    const [file = '', ...args] = command;
    const free = await parts.run({ file, args, folder: root, environment, timeoutMs, clock });
    const news = [join(root, 'new'), join(folder, 'new')];
    if (free.output.trim() !== `${mark} ${everything}` || !news.every((path) => existsSync(path))) {
      return fails(`it can not be tried out here: ${said(free)}`);
    }
    await Promise.all(news.map((path) => rm(path)));
    const confined = await confineCommand(command, { ...options, root }, [], environment);
    try {
      const end = await parts.run({ ...confined, folder: '/', timeoutMs, clock });
      if (end.output.trim() === mark && !news.some((path) => existsSync(path))) return { works: true, reason: null };
      return fails(`a command that was confined to reading went wrong: ${said(end)}`);
    } finally {
      await confined.release();
    }
  } catch (error) {
    return fails(errorText(error));
  } finally {
    listener.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function said({ errors, output, exitCode }: { errors: string; output: string; exitCode: number | null }): string {
  const text = `${errors.trim()} ${output.trim()}`.trim().replaceAll(/\s+/g, ' ').slice(0, 400);
  return `exit code ${exitCode ?? 'none'}, ${text === '' ? 'no output' : text}`;
}
