import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { errorText, TreadleError } from '@treadle/core';
import { parseJson } from '@treadle/core/json';
import type { LiveBus } from '@treadle/core/ports';
import { codeOf } from '../errors.ts';

/** Options of {@link localBus}. */
export interface LocalBusOptions {
  /** The folder of the sockets, readable by its owner only. It is made when it isn't there. At most 80 bytes long. */
  readonly folder: string;
}

const ENDING = '.sock';
const NAME = /^[\da-f]{12}$/;
/** The system takes no longer path for a socket. */
const LONGEST_FOLDER = 80;
/** One that takes nothing gets nothing more. */
const MOST_WAITING = 8_000_000;
const LONGEST_TEXT = 64_000_000;

/**
 * The way between the processes of one machine that share a journal: a Unix socket for each, in a folder that is theirs.
 *
 * @throws TreadleError `invalid_definition` when the path of the folder is too long for a socket; `journal_failed` when the
 * folder can't be used.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { localBus } from '@treadle/store';
 *
 * const folder = mkdtempSync(join(tmpdir(), 'treadle-'));
 * const [here, there] = [await localBus({ folder }), await localBus({ folder })];
 * const heard = new Promise((resolve) => there.listen(resolve));
 * await here.send('Hello.');
 * console.log(await heard); // Hello.
 * await Promise.all([here.close(), there.close()]);
 * ```
 */
export async function localBus({ folder }: LocalBusOptions): Promise<LiveBus> {
  if (folder === '' || Buffer.byteLength(folder) > LONGEST_FOLDER) {
    const message = `localBus needs the path of a folder of at most ${LONGEST_FOLDER} bytes, for its sockets.`;
    throw new TreadleError('invalid_definition', message);
  }
  const id = randomBytes(6).toString('hex');
  const own = join(folder, `${id}${ENDING}`);
  const unfinished = join(folder, `${id}.new`);
  const listeners = new Set<readonly [heard: (text: string, from: string) => void]>();
  /** Connections to others, for what is sent to them. */
  const others = new Map<string, Socket>();
  /** Connections of others. */
  const incoming = new Set<Socket>();
  let closed = false;

  const server = createServer((socket) => {
    incoming.add(socket);
    socket.on('close', () => incoming.delete(socket)).on('error', () => {});
    readLines(socket, ([from = '', text = '']) => {
      for (const [heard] of listeners) heard(text, from);
    });
  });
  server.unref();
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    requireOwn(folder);
    await new Promise<void>((resolve, reject) => {
      // Later errors are of single connections: they end nothing.
      server.on('error', reject).listen(unfinished, resolve);
    });
    chmodSync(unfinished, 0o600);
    // Others find it once it takes connections: one that refuses them counts as left behind.
    renameSync(unfinished, own);
  } catch (cause) {
    const code = codeOf(cause);
    const why = typeof code === 'string' ? code : errorText(cause);
    const message = `Live text can't be shared in ${folder}: ${why}.`;
    throw new TreadleError('journal_failed', message, { cause });
  }

  function socketTo(other: string): Socket {
    const known = others.get(other);
    if (known) return known;
    const path = join(folder, `${other}${ENDING}`);
    const socket = connect(path);
    socket.unref();
    others.set(other, socket);
    socket.on('error', (error) => {
      // Left by a process that died.
      if (codeOf(error) === 'ECONNREFUSED') rmSync(path, { force: true });
    });
    socket.on('close', () => others.get(other) === socket && others.delete(other));
    return socket;
  }

  return {
    id,
    async send(text, to) {
      if (closed) return;
      const line = `${JSON.stringify([id, text])}\n`;
      for (const other of to === undefined ? namesIn(folder) : [to]) {
        // It becomes a path.
        if (other === id || !NAME.test(other)) continue;
        const socket = socketTo(other);
        if (socket.writableLength < MOST_WAITING) socket.write(line);
      }
    },
    listen(heard) {
      const listener = [heard] as const;
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      if (closed) return;
      closed = true;
      for (const socket of [...others.values(), ...incoming]) socket.destroy();
      rmSync(own, { force: true });
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

/** Whoever else may put sockets there hears what is said, and may say anything. */
function requireOwn(folder: string): void {
  const { uid, mode } = statSync(folder);
  const own = process.getuid?.();
  if (own === undefined) return;
  if (uid !== own) throw new Error('it belongs to another user; name a folder of your own');
  if ((mode & 0o077) !== 0) throw new Error('other users may read it; run: chmod 700, or name another folder');
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap((name) => (name.endsWith(ENDING) ? [name.slice(0, -ENDING.length)] : []));
  } catch {
    return [];
  }
}

/** Each line is a list of texts. Whoever sends anything else, or no end of a line, is cut off. */
function readLines(socket: Socket, take: (line: readonly string[]) => void): void {
  let pieces: string[] = [];
  let length = 0;
  socket.setEncoding('utf8').on('data', (piece: string) => {
    const [first = '', ...rest] = piece.split('\n');
    pieces.push(first);
    length += first.length;
    if (length > LONGEST_TEXT) socket.destroy();
    for (const more of rest) {
      const line = pieces.join('');
      pieces = [more];
      ({ length } = more);
      const parsed = parsedLine(line);
      if (parsed) take(parsed);
      else socket.destroy();
    }
  });
}

function parsedLine(line: string): readonly string[] | null {
  try {
    const parsed = parseJson(line);
    return Array.isArray(parsed) && parsed.every((part) => typeof part === 'string') ? parsed : null;
  } catch {
    return null;
  }
}
