import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { expect, it } from 'vitest';

import { temporaryFolder } from '../../test-support/harness.ts';
import { mentionOfPath } from './images.ts';

it('takes the path of an image or a PDF for the file, however a terminal writes it', async () => {
  await using top = await temporaryFolder();
  const folder = await realpath(top.path);
  await mkdir(join(folder, 'my pictures'));
  const plain = join(folder, 'a.png');
  const spaced = join(folder, 'my pictures/b.pdf');
  for (const path of [plain, spaced, join(folder, 'c.txt')]) await writeFile(path, 'x');
  const of = (text: string) => mentionOfPath(text, { folder, home: folder });
  expect(of(plain)).toBe(`@${plain} `);
  expect(of('a.png\n')).toBe(`@${plain} `);
  expect(of('~/a.png')).toBe(`@${plain} `);
  for (const text of [`'${spaced}'`, `"${spaced}"`, spaced.replaceAll(' ', '\\ '), pathToFileURL(spaced).href])
    expect(of(text)).toBe(`@"${spaced}" `);
  for (const text of [
    spaced,
    'c.txt',
    'gone.png',
    `look at ${plain}`,
    '',
    'file://elsewhere/a.png',
    `${plain}\n${plain}`,
  ])
    expect({ text, mention: of(text) }).toEqual({ text, mention: null });
});
