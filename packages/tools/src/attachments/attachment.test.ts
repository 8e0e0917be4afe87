import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readAttachment } from './attachment.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'treadle-attachment-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex');

describe('a file as a part of a message', () => {
  it('is what it holds, whatever it is called', async () => {
    expect(await readAttachment(await file('image.txt', PNG), 'image.txt')).toEqual({
      type: 'image',
      mediaType: 'image/png',
      data: PNG.toString('base64'),
    });
    const pdf = Buffer.from('%PDF-1.7\n%\u00e2\u00e3', 'latin1');
    expect(await readAttachment(await file('paper.png', pdf), 'paper.png')).toEqual({
      type: 'file',
      mediaType: 'application/pdf',
      name: 'paper.png',
      data: pdf.toString('base64'),
    });
    expect(await readAttachment(await file('a.pdf', 'Grüße\n'))).toEqual({ type: 'text', text: 'Grüße\n' });
  });

  it('is text in its own encoding', async () => {
    const utf16 = Buffer.from('\ufeffhello', 'utf16le');
    expect(await readAttachment(await file('utf16', utf16))).toEqual({ type: 'text', text: 'hello' });
  });

  it.each([
    ['binary', async () => file('archive', new Uint8Array([0x50, 0x4b, 3, 4, 0, 0])), /is neither text, nor an image/],
    ['missing', async () => join(folder, 'gone'), /there is no such file/],
    ['a folder', async () => folder, /is no file/],
    ['a large text', async () => file('long', 'x'.repeat(1_048_577)), /has 1048577 bytes, and 1048576 at most/],
  ])('is refused where it is %s', async (_, make, message) => {
    const path = await make();
    await expect(readAttachment(path)).rejects.toMatchObject({
      code: 'invalid_attachment',
      message: expect.stringMatching(message) as string,
    });
  });

  it('is not read when it is far too large', async () => {
    const path = await file('huge.pdf', '%PDF-1.7');
    await truncate(path, 5_000_000_000);
    await expect(readAttachment(path, 'huge.pdf')).rejects.toMatchObject({ code: 'invalid_attachment' });
  });
});
