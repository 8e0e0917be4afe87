import { describe, expect, it } from 'vitest';
import { simulatedDisk, type SimulatedFileSystem } from '../index.ts';

const OPTIONS = { mode: 0o700 };

const codeOf = (error: unknown): string => String((error as { readonly code?: unknown }).code);

/** A file that is synced, name and all. */
async function durable(fs: SimulatedFileSystem, name: string, text: string): Promise<void> {
  await fs.writeFile(`/${name}`, text);
  const file = await fs.open(`/${name}`, 'r+');
  await file.datasync();
  await file.close();
  const folder = await fs.open('/', 'r');
  await folder.sync();
}

/** What is found after each of many power failures. */
async function outcomes(prepare: (fs: SimulatedFileSystem) => Promise<void>, path = '/file'): Promise<Set<string>> {
  const found = new Set<string>();
  for (let seed = 0; seed < 200; seed += 1) {
    const disk = simulatedDisk({ seed });
    await prepare(disk.fileSystem);
    disk.cutPower();
    found.add(await disk.fileSystem.readFile(path, 'utf8').catch(codeOf));
  }
  return found;
}

async function write(fs: SimulatedFileSystem, texts: readonly string[], at: number): Promise<void> {
  const file = await fs.open('/file', 'r+');
  let place = at;
  for (const text of texts) place += (await file.write(Buffer.from(text), 0, text.length, place)).bytesWritten;
}

describe('a power failure', () => {
  it('keeps what was synced', async () => {
    expect(await outcomes((fs) => durable(fs, 'file', 'kept'))).toEqual(new Set(['kept']));
  });

  it('keeps, drops, tears and reorders what was not', async () => {
    const found = await outcomes(async (fs) => {
      await durable(fs, 'file', '-');
      await write(fs, ['one', 'two'], 1);
    });
    for (const wanted of ['-', '-onetwo', '-one', '-on', '-\0\0\0two']) expect(found).toContain(wanted);
  });

  it('takes names away that were not synced, with all that is in them', async () => {
    const found = await outcomes(async (fs) => {
      await fs.mkdir('/folder', OPTIONS);
      await fs.writeFile('/folder/file', 'x');
      const folder = await fs.open('/folder', 'r');
      await folder.sync();
    }, '/folder/file');
    for (const wanted of ['x', 'ENOENT', '']) expect(found).toContain(wanted);
  });

  it('leaves the old or the new file where one was renamed over another, and both names in neither case', async () => {
    const found = await outcomes(async (fs) => {
      await durable(fs, 'file', 'old');
      await durable(fs, 'new', 'new');
      await fs.rename('/new', '/file');
    });
    expect(found).toEqual(new Set(['old', 'new']));
  });

  it('comes at the call it was ordered for, whose caller never hears of it', async () => {
    const disk = simulatedDisk();
    const before = disk.fileSystem;
    const lost = disk.cutPowerAt(2, 'before');
    await before.mkdir('/a', OPTIONS);
    const never = before.mkdir('/b', OPTIONS).then(() => 'came back');
    await lost;
    expect(await Promise.race([never, disk.fileSystem.readdir('/').then(() => 'on again')])).toBe('on again');
    expect(await Promise.race([before.readdir('/'), Promise.resolve('off')])).toBe('off');
    expect(await disk.fileSystem.readdir('/')).not.toContain('b');
  });
});

describe('a call that fails', () => {
  it('is the nth of its kind, as often as was said, and has its code', async () => {
    const disk = simulatedDisk();
    disk.fail({ calls: ['mkdir'], code: 'EROFS', nth: 2, times: 2 });
    const made: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      const mkdir = disk.fileSystem.mkdir(`/${name}`, OPTIONS);
      made.push(await mkdir.then(() => 'made', codeOf));
    }
    expect(made).toEqual(['made', 'EROFS', 'EROFS', 'made']);
    disk.fail({ calls: ['readdir'], code: 'EIO', times: Number.POSITIVE_INFINITY });
    await expect(disk.fileSystem.readdir('/')).rejects.toMatchObject({ code: 'EIO' });
    disk.repair();
    expect(await disk.fileSystem.readdir('/')).toEqual(['a', 'd']);
    expect(disk.calls.filter((call) => call === 'mkdir')).toHaveLength(4);
  });

  it('may have written a part', async () => {
    const lengths = new Set<number>();
    for (let seed = 0; seed < 20; seed += 1) {
      const disk = simulatedDisk({ seed });
      await disk.fileSystem.writeFile('/file', '');
      disk.fail({ calls: ['write'], code: 'ENOSPC' });
      await expect(write(disk.fileSystem, ['0123456789'], 0)).rejects.toMatchObject({ code: 'ENOSPC' });
      lengths.add((await disk.fileSystem.stat('/file')).size);
    }
    expect(lengths.size).toBeGreaterThan(4);
  });

  it('that was a sync leaves the next one with nothing to do, and data that only seems to be there', async () => {
    let lost = 0;
    for (let seed = 0; seed < 20; seed += 1) {
      const disk = simulatedDisk({ seed });
      await durable(disk.fileSystem, 'file', '');
      await write(disk.fileSystem, ['data'], 0);
      const file = await disk.fileSystem.open('/file', 'r+');
      disk.fail({ calls: ['datasync'], code: 'EIO' });
      await expect(file.datasync()).rejects.toMatchObject({ code: 'EIO' });
      await file.datasync();
      expect(await disk.fileSystem.readFile('/file', 'utf8')).toBe('data');
      disk.cutPower();
      if ((await disk.fileSystem.readFile('/file', 'utf8')) !== 'data') lost += 1;
    }
    expect(lost).toBeGreaterThan(3);
  });
});

describe('the files', () => {
  it('are those that Node would have: made, linked, cut, copied and removed', async () => {
    const { fileSystem: fs } = simulatedDisk();
    expect(await fs.mkdir('/a/b', { recursive: true, ...OPTIONS })).toBe('/a');
    expect(await fs.mkdir('/a/b', { recursive: true, ...OPTIONS })).toBeUndefined();
    await fs.writeFile('/a/file', 'text');
    await fs.link('/a/file', '/a/b/same');
    await fs.truncate('/a/file', 2);
    expect(await fs.readFile('/a/b/same', 'utf8')).toBe('te');
    await fs.copyFile('/a/file', '/a/copy');
    await fs.unlink('/a/file');
    expect(await fs.readdir('/a')).toEqual(['b', 'copy']);
    await fs.rename('/a/copy', '/a/b/moved');
    await fs.rm('/a/b', { recursive: true, force: true });
    expect(await fs.readdir('/a')).toEqual([]);
  });

  it.each<[string, (fs: SimulatedFileSystem) => Promise<unknown>]>([
    ['ENOENT', (fs) => fs.readFile('/none', 'utf8')],
    ['ENOENT', (fs) => fs.open('/none/file', 'w')],
    ['EEXIST', (fs) => fs.mkdir('/folder', OPTIONS)],
    ['EEXIST', (fs) => fs.open('/file', 'wx')],
    ['EEXIST', (fs) => fs.link('/file', '/file')],
    ['ENOTDIR', (fs) => fs.readdir('/file')],
    ['ENOTDIR', (fs) => fs.stat('/file/below')],
    ['EISDIR', (fs) => fs.unlink('/folder')],
  ])('are refused with %s where Node refuses them', async (code, act) => {
    const { fileSystem: fs } = simulatedDisk();
    await fs.mkdir('/folder', OPTIONS);
    await fs.writeFile('/file', 'x');
    await expect(act(fs)).rejects.toMatchObject({ code });
  });
});
