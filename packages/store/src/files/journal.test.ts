import { execFileSync } from 'node:child_process';
import { defineAgent, memoryBlobs, openSession, type Journal } from '@treadle/core';
import { sweepBlobs } from '@treadle/core/features';
import { journalContract, scriptedModel, testClock } from '@treadle/testing';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { systemFiles } from './file-system.ts';
import { mendTail, newLogFile, refresh } from './log.ts';
import { draftOf, readRecord } from './record.ts';
import { fileJournal, type DamageReport, type FileJournalOptions } from '../index.ts';

const folders: string[] = [];
const journals: Journal[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-files-'));
  folders.push(folder);
  return folder;
}

function open(folder: string, options: Partial<FileJournalOptions> = {}): Journal {
  const journal = fileJournal({ folder, ...options });
  journals.push(journal);
  return journal;
}

afterEach(async () => {
  await Promise.all(journals.splice(0).map((journal) => journal.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const created = (sessionId: string) => ({ type: 'session_created', at: 1, eventVersion: 1, sessionId }) as const;
const noted = (taskId: string) => ({ type: 'task_updated', at: 2, taskId, status: 'running' }) as const;
const note = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;

async function seqs(journal: Journal, sessionId: string): Promise<number[]> {
  const all: number[] = [];
  for await (const event of journal.read(sessionId, 1)) all.push(event.seq);
  return all;
}

const logOf = (folder: string): string => {
  const [log = ''] = readdirSync(join(folder, 'logs'));
  return join(folder, 'logs', log, 'log.jsonl');
};

/** A log of five events. */
async function fiveEvents(folder: string): Promise<Buffer> {
  const journal = fileJournal({ folder });
  await journal.create('s', created('s'));
  for (let index = 0; index < 4; index += 1) await journal.post('s', note(`note ${index} 😀`), `k${index}`, 2);
  await journal.close();
  return readFileSync(logOf(folder));
}

/** Where each line begins, and the end of the last. */
function starts(bytes: Buffer): number[] {
  const at = [0];
  for (let index = bytes.indexOf(10); index >= 0; index = bytes.indexOf(10, index + 1)) at.push(index + 1);
  return at;
}

describe('fileJournal keeps the contract of journals', () => {
  const make = () => {
    const folder = mkdtempSync(join(tmpdir(), 'treadle-files-'));
    return {
      journal: fileJournal({ folder, pollMs: 10 }),
      open: async () => fileJournal({ folder, pollMs: 10 }),
      dispose: async () => rmSync(folder, { recursive: true, force: true }),
    };
  };
  for (const { name, run } of journalContract(make, { shared: true, runs: 5 })) it(name, run);
});

describe('the files', () => {
  it('are JSON Lines with the length and the checksum of each event, for the owner alone', async () => {
    const folder = newFolder();
    const bytes = await fiveEvents(folder);
    const lines = bytes.toString('utf8').trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([1, 2, 3, 4, 5]);
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({
      posted: true,
      length: expect.any(Number),
      sum: expect.stringMatching(/^[0-9a-f]{8}$/),
      event: { type: 'input_received', key: 'k0' },
    });
    expect(statSync(logOf(folder)).mode & 0o077).toBe(0);
    expect(statSync(join(folder, 'logs')).mode & 0o077).toBe(0);
  });

  it('hold sessions of any name', async () => {
    const journal = open(newFolder());
    const names = ['../../escape', 'a/b', '.', '', 'x'.repeat(5000), 'Case', 'case', 'é', 'e\u0301', 'nul\0'];
    for (const name of names) await journal.create(name, created(name));
    expect((await journal.list()).sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(names.toSorted());
    for (const name of names) expect(await seqs(journal, name)).toEqual([1]);
  });

  it('S10: of a newer format are refused, untouched', async () => {
    const folder = newFolder();
    const before = await fiveEvents(folder);
    writeFileSync(join(folder, 'format'), '2\n');
    await expect(open(folder).list()).rejects.toMatchObject({ code: 'journal_too_new' });
    expect(readFileSync(logOf(folder))).toEqual(before);
  });
});

describe('a damaged log', () => {
  it('S3: cut off at any byte of the last three records keeps what is whole, reports, and keeps the original', async () => {
    const folder = newFolder();
    const whole = await fiveEvents(folder);
    const path = logOf(folder);
    const at = starts(whole);
    for (let length = at[2] ?? 0; length < whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length));
      const log = newLogFile(systemFiles, 'log', path, null, null);
      await refresh(log);
      const kept = at.filter((start) => start <= length).length - 1;
      expect([log.seq, log.size]).toEqual([kept, at[kept]]);
      const report = await mendTail(log, `${path}.copy`);
      expect(readFileSync(path)).toEqual(whole.subarray(0, at[kept]));
      if (length === at[kept]) {
        expect(report).toBeNull();
        continue;
      }
      expect(report).toMatchObject({ path, seq: kept, bytes: length - (at[kept] ?? 0) });
      expect(readFileSync(`${path}.copy`)).toEqual(whole.subarray(0, length));
    }
  });

  it('S4: with any byte of a record changed is found out, and the events before it can be read', async () => {
    const folder = newFolder();
    const whole = await fiveEvents(folder);
    const at = starts(whole);
    const [from = 0, to = 0] = [at[2], at[3]];
    for (let index = from; index < to; index += 1) {
      const changed = Buffer.from(whole);
      changed[index] = (changed[index] ?? 0) ^ 0x01;
      writeFileSync(logOf(folder), changed);
      const journal = fileJournal({ folder });
      const read: number[] = [];
      const reading = (async () => {
        for await (const { seq } of journal.read('s', 1)) read.push(seq);
      })();
      await expect(reading).rejects.toMatchObject({ code: 'journal_corrupt' });
      await expect(journal.post('s', note('x'), 'x', 3)).rejects.toMatchObject({ code: 'journal_corrupt' });
      await journal.close();
      expect(readFileSync(logOf(folder))).toEqual(changed);
    }
  });

  it('at its very end is mended by the next writer, and left alone by readers', async () => {
    const folder = newFolder();
    await fiveEvents(folder);
    appendFileSync(logOf(folder), '{"seq":6,"pos');
    const torn = readFileSync(logOf(folder));
    const reports: DamageReport[] = [];
    const journal = open(folder, { onDamage: (report) => reports.push(report) });
    expect(await seqs(journal, 's')).toEqual([1, 2, 3, 4, 5]);
    expect(readFileSync(logOf(folder))).toEqual(torn);
    await journal.claim('s', { id: 'a', label: 'a' });
    expect(reports).toHaveLength(1);
    expect(await seqs(open(folder), 's')).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('damage of one session', () => {
  const damages: [string, (folder: string, log: string) => void][] = [
    ['its log has a byte that was changed', (_, log) => changeByte(log, 200)],
    ['its log is empty', (_, log) => truncateSync(log, 0)],
    ['its log is zeros', (_, log) => writeFileSync(log, Buffer.alloc(500))],
    ['its log begins with its second event', (_, log) => writeFileSync(log, secondAsFirst(log))],
    ['its name is no JSON', (folder) => writeFileSync(nameOf(folder, 'bad'), '{"name":')],
    ['its name is other JSON', (folder) => writeFileSync(nameOf(folder, 'bad'), 'null')],
    ['what it was forked from is no JSON', (_, log) => writeFileSync(join(log, '..', 'origin.json'), 'x')],
  ];

  it.each(damages)('hides no other, and is named: %s', async (_, damage) => {
    const folder = newFolder();
    const before = open(folder);
    await before.create('good', created('good'));
    await before.post('good', note('fine'), 'k', 5);
    const log = await newLog(before, folder, 'bad');
    await before.close();
    damage(folder, log);
    const journal = open(folder);
    const { sessions } = await journal.list();
    expect(sessions).toHaveLength(2);
    expect(sessions.find(({ sessionId }) => sessionId === 'good')).not.toHaveProperty('damage');
    const [bad] = sessions.filter(({ damage: found }) => found !== undefined);
    expect(bad?.damage).toMatch(/Restore the file from a copy|Restore it from a copy/);
    await expect(seqs(journal, 'bad')).rejects.toMatchObject({ code: 'journal_corrupt' });
    expect(await seqs(journal, 'good')).toEqual([1, 2]);
    // What its log names must not be taken for unused.
    await expect(sweepBlobs({ blobs: memoryBlobs(), journals: [journal] })).rejects.toMatchObject({
      code: 'journal_corrupt',
    });
  });

  it('leaves an empty log as it is: it is reported when it is opened, and nothing is written to it', async () => {
    const folder = newFolder();
    const before = open(folder);
    await before.list();
    const log = await newLog(before, folder, 'bad');
    await before.close();
    truncateSync(log, 0);
    const journal = open(folder);
    const agent = defineAgent({ model: scriptedModel(['Hello.']) });
    await expect(openSession(agent, 'bad', { journal })).rejects.toMatchObject({
      code: 'journal_corrupt',
      message: expect.stringContaining('something has emptied it'),
    });
    await expect(journal.claim('bad', { id: 'a', label: 'a' })).rejects.toMatchObject({ code: 'journal_corrupt' });
    await expect(journal.post('bad', note('x'), 'k', 1)).rejects.toMatchObject({ code: 'journal_corrupt' });
    expect(readFileSync(log)).toHaveLength(0);
    expect(readdirSync(join(log, '..')).filter((name) => name.includes('damaged'))).toEqual([]);
  });

  /** Makes a session of four events, and returns the path of its log. */
  async function newLog(journal: Journal, folder: string, sessionId: string): Promise<string> {
    const known = new Set(readdirSync(join(folder, 'logs')));
    await journal.create(sessionId, created(sessionId));
    for (let index = 0; index < 3; index += 1) await journal.post(sessionId, note(`note ${index}`), `k${index}`, 2);
    const log = readdirSync(join(folder, 'logs')).find((name) => !known.has(name)) ?? '';
    return join(folder, 'logs', log, 'log.jsonl');
  }

  const nameOf = (folder: string, sessionId: string): string =>
    join(folder, 'names', createHash('sha256').update(sessionId).digest('hex'));

  function changeByte(path: string, at: number): void {
    const bytes = readFileSync(path);
    bytes[at] = (bytes[at] ?? 0) ^ 0x01;
    writeFileSync(path, bytes);
  }

  function secondAsFirst(path: string): Buffer {
    const record = readRecord(readFileSync(path), starts(readFileSync(path))[1] ?? 0);
    if (typeof record === 'string') throw new Error(record);
    return Buffer.from(draftOf(1, true, record.event, 1).line);
  }
});

describe('other processes', () => {
  it('that died holding a lock or a claim hold nobody up', async () => {
    const folder = newFolder();
    await fiveEvents(folder);
    const dead = { pid: 2 ** 22 + 7, start: null, host: 'here' };
    const here = { pid: process.pid, start: null, host: 'here' };
    const processes = { self: () => here, isGone: ({ pid }: { readonly pid: number }) => pid === dead.pid };
    const before = open(folder, { processes: { ...processes, self: () => dead } });
    await before.claim('s', { id: 'dead', label: 'a dead process' });
    writeFileSync(join(logOf(folder), '..', 'lock.of-the-dead'), JSON.stringify(dead));
    const claim = await open(folder, { processes }).claim('s', { id: 'b', label: 'b' });
    expect(claim.epoch).toBe(2);
  });

  it('that live and hold the lock for too long are an error, and not a wait without end', async () => {
    const folder = newFolder();
    await fiveEvents(folder);
    const clock = testClock();
    writeFileSync(
      join(logOf(folder), '..', 'lock.of-another'),
      JSON.stringify({ pid: 1, start: null, host: 'elsewhere' }),
    );
    const journal = open(folder, { clock, lockTimeoutMs: 1000 });
    const posted = journal.post('s', note('x'), 'x', 3).catch((error: unknown) => error);
    let settled = false;
    void posted.then(() => (settled = true));
    while (!settled) await clock.advance(100);
    expect(await posted).toMatchObject({ code: 'journal_failed' });
    rmSync(join(logOf(folder), '..', 'lock.of-another'));
    expect((await journal.post('s', note('x'), 'x', 3)).seq).toBe(6);
  });

  it('many at once write one log without gap, loss or repeat', async () => {
    const folder = newFolder();
    const handles = Array.from({ length: 4 }, () => open(folder));
    await handles[0]?.create('s', created('s'));
    const posted = await Promise.all(
      handles.flatMap((journal, index) =>
        Array.from({ length: 10 }, (_, nth) => journal.post('s', note('x'), `${index}-${nth}`, 2)),
      ),
    );
    const numbers = posted.map(({ seq }) => seq).toSorted((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 40 }, (_, index) => index + 2));
    expect(await seqs(open(folder), 's')).toEqual(Array.from({ length: 41 }, (_, index) => index + 1));
  });
});

describe('a disk that fails', () => {
  it('S6: that is full keeps what was acknowledged, acknowledges nothing more, and is said', async () => {
    const folder = newFolder();
    await fiveEvents(folder);
    const before = readFileSync(logOf(folder));
    const script = join(folder, 'fill.ts');
    const store = pathToFileURL(join(import.meta.dirname, '..', 'index.ts')).href;
    writeFileSync(
      script,
      `import { fileJournal } from ${JSON.stringify(store)};
      const journal = fileJournal({ folder: ${JSON.stringify(folder)} });
      const input = (text) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] });
      const code = (error) => error.code;
      console.log(await journal.post('s', input('x'.repeat(8000)), 'big', 3).catch(code));
      console.log(await journal.post('s', input('small'), 'small', 3).catch(code));`,
    );
    // No file of this process may grow beyond 4 KiB, which is what a full disk looks like.
    const limited = 'ulimit -f 4; exec "$0" "$@"';
    const output = execFileSync('bash', ['-c', limited, process.execPath, '--conditions=treadle-source', script], {
      encoding: 'utf8',
    });
    expect(output).toBe('journal_failed\njournal_failed\n');
    expect(readFileSync(logOf(folder))).toEqual(before);
    expect((await open(folder).post('s', note('later'), 'later', 4)).seq).toBe(6);
  });

  it('a log that was cut short behind our back is refused, and nothing is written over it', async () => {
    const folder = newFolder();
    await fiveEvents(folder);
    const journal = open(folder);
    const claim = await journal.claim('s', { id: 'a', label: 'a' });
    truncateSync(logOf(folder), statSync(logOf(folder)).size - 3);
    const appended = journal.append('s', claim.epoch, 5, [noted('t')]);
    await expect(appended).rejects.toMatchObject({ code: 'journal_corrupt' });
  });
});
