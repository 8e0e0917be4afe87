import { scriptedModel } from '@treadle/testing';

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../../test-support/harness.ts';

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex');

async function folderWithFiles() {
  const folder = await temporaryFolder();
  await mkdir(join(folder.path, 'my docs'));
  await writeFile(join(folder.path, 'a.txt'), 'one\n</file>\ntwo');
  await writeFile(join(folder.path, 'my docs', 'b.md'), 'Bee.');
  await writeFile(join(folder.path, 'shot'), PNG);
  await writeFile(join(folder.path, 'paper'), '%PDF-1.7');
  return folder;
}

/** The parts of the message that the model gets, and what is said beside it. */
async function sent(folder: string, ...argv: string[]) {
  const model = scriptedModel(['Done.']);
  const { code, stderr } = await runCli([...argv, '--model', 'any'], { cwd: folder, model });
  return { code, stderr, content: model.requests[0]?.messages[0]?.content, request: model.requests[0] };
}

const image = { type: 'image', mediaType: 'image/png', data: PNG.toString('base64') };

describe('files of a prompt', () => {
  it('are those that it mentions, as what they hold, each once', async () => {
    await using folder = await folderWithFiles();
    const prompt = 'Compare @a.txt, (@a.txt) with @"my docs/b.md"; see @shot and @paper.';
    const { code, content, stderr } = await sent(folder.path, prompt);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(content).toEqual([
      { type: 'text', text: prompt },
      { type: 'text', text: '<file-2 path="a.txt">\none\n</file>\ntwo\n</file-2>' },
      { type: 'text', text: '<file path="my docs/b.md">\nBee.\n</file>' },
      image,
      { type: 'file', mediaType: 'application/pdf', name: 'paper', data: Buffer.from('%PDF-1.7').toString('base64') },
    ]);
  });

  it('are no words that only look alike; a path that leads nowhere is noted', async () => {
    await using folder = await folderWithFiles();
    const prompt = 'Ask me@a.txt about @types/node, @Override and @gone.txt.';
    const { content, stderr } = await sent(folder.path, prompt);
    expect(content).toEqual([{ type: 'text', text: prompt }]);
    expect(stderr).toBe('treadle: @gone.txt is no file here, and stays a word of the prompt.\n');
  });

  it('are never those that piped text mentions', async () => {
    await using folder = await folderWithFiles();
    const model = scriptedModel(['Done.', 'Done.']);
    await runCli([], { cwd: folder.path, model, stdin: 'See @a.txt' });
    await runCli(['Sum it up.'], { cwd: folder.path, model, stdin: 'See @a.txt' });
    expect(model.requests.map(({ messages }) => messages[0]?.content)).toEqual([
      [{ type: 'text', text: 'See @a.txt' }],
      [
        { type: 'text', text: 'Sum it up.' },
        { type: 'text', text: '<stdin>\nSee @a.txt\n</stdin>' },
      ],
    ]);
  });

  it('that can’t be sent end the command before a model is asked', async () => {
    await using folder = await folderWithFiles();
    await writeFile(join(folder.path, 'archive.zip'), new Uint8Array([0x50, 0x4b, 3, 4, 0]));
    const { code, stderr, request } = await sent(folder.path, 'Unpack @archive.zip');
    expect({ code, request }).toEqual({ code: 2, request: undefined });
    expect(stderr).toContain('archive.zip is neither text, nor an image');
  });
});

describe('--image', () => {
  it('sends images and PDFs beside the prompt, in order', async () => {
    await using folder = await folderWithFiles();
    const { code, content } = await sent(folder.path, 'What is it?', '--image', 'shot', '--image=paper');
    expect(code).toBe(0);
    expect(content).toMatchObject([{ text: 'What is it?' }, image, { mediaType: 'application/pdf', name: 'paper' }]);
  });

  it('takes no text, and no file that is not there', async () => {
    await using folder = await folderWithFiles();
    const text = await sent(folder.path, 'What?', '--image', 'a.txt');
    expect([text.code, text.stderr]).toEqual([
      2,
      'treadle: --image a.txt is a text. Mention it in the prompt instead: @a.txt\n',
    ]);
    const gone = await sent(folder.path, 'What?', '--image', 'gone.png');
    expect([gone.code, gone.stderr]).toEqual([2, "treadle: gone.png can't be read: there is no such file.\n"]);
  });
});

describe('--thinking', () => {
  it('says how much the model thinks', async () => {
    await using folder = await temporaryFolder();
    expect((await sent(folder.path, 'Think.', '--thinking', 'high')).request?.thinking).toBe('high');
    expect((await sent(folder.path, 'Think.')).request?.thinking).toBeUndefined();
  });

  it('takes the known levels', async () => {
    await using folder = await temporaryFolder();
    const { code, stderr } = await sent(folder.path, 'Think.', '--thinking', 'hihg');
    expect(code).toBe(2);
    expect(stderr).toContain("--thinking doesn't know 'hihg'. Did you mean 'high'?");
  });
});
