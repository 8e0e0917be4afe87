import { expect, it } from 'vitest';

import { createEmulator } from '../../test-support/emulator.ts';
import { themeNamed } from '../screen/theme.ts';
import { createPager } from './pager.ts';

it('finds what is searched for, and says when there is nothing', async () => {
  const emulator = createEmulator(60, 6);
  const rows = Array.from({ length: 30 }, (_, index) => `row ${index}${index % 10 === 7 ? ' with a shell' : ''}`);
  const output = { columns: 60, rows: 6, write: (bytes: string) => emulator.write(bytes) };
  const pager = createPager(output, themeNamed('none'), 'Transcript', () => rows, false);
  pager.open();
  const press = (keys: string): void => {
    for (const key of keys) pager.key({ name: key === '\r' ? 'enter' : '', sequence: key });
  };
  const first = async (): Promise<string | undefined> => (await emulator.screen())[0];
  press('/SHELL\r');
  expect(await first()).toBe('row 7 with a shell');
  press('n');
  expect(await first()).toBe('row 17 with a shell');
  press('N');
  expect(await first()).toBe('row 7 with a shell');
  press('/nowhere\r');
  expect((await emulator.screen()).at(-1)).toContain('nothing has "nowhere"');
  expect(await first()).toBe('row 7 with a shell');
});
