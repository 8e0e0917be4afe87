import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';

import { CATALOGUE, CATALOGUE_DATE, writeCatalogue, type CatalogueRow } from '@treadle/models/catalogue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { runCli, temporaryFolder } from '../../test-support/harness.ts';
import { DEFAULT_PARTS } from '../parts.ts';

describe('treadle models', () => {
  it('lists models with their windows and prices, and filters by a part of the name', async () => {
    const { code, stdout } = await runCli(['models', 'sonnet-5']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^anthropic\/claude-sonnet-5-5 +1,000,000 {2}\$2 in, \$10 out$/m);
    expect(stdout).toContain(`as of ${CATALOGUE_DATE}`);
    expect(stdout).not.toContain('openai/');
    expect((await runCli(['models'])).stdout.split('\n').length).toBeGreaterThan(100);
  });

  it('shows all that is known of one, also by a cloud’s name of it', async () => {
    const { stdout } = await runCli(['models', 'openai/gpt-6.1-sol']);
    for (const part of [
      'window      1,050,000 tokens',
      'at most 922,000 tokens',
      'above 272,000 tokens',
      'cache read $0.1, write $2.5',
    ])
      expect(stdout).toContain(part);
    expect((await runCli(['models', 'bedrock/us.anthropic.claude-opus-5-5'])).stdout).toContain('in $4.4, out $22');
    expect((await runCli(['models', 'openai/gpt-5'])).stdout).toContain('shut down   2026-12-11');
  });

  it('says so when there is none, and prints rows as a catalogue file', async () => {
    expect(await runCli(['models', 'gpt-9000'])).toMatchObject({ code: 2 });
    const { stdout } = await runCli(['models', 'xai/grok-4.7', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ format: 1, rows: [{ id: 'grok-4.7' }] });
  });
});

describe('treadle models update', () => {
  let server: Server;
  let address = '';
  let served = '';
  beforeAll(async () => {
    server = createServer((request, response) => {
      response.statusCode = request.url === '/catalogue.json' ? 200 : 404;
      response.end(served);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const bound = server.address();
    address = `http://127.0.0.1:${typeof bound === 'object' && bound ? bound.port : 0}/catalogue.json`;
  });
  afterAll(() => void server.close());

  const NAME = 'claude-sonnet-5-5';
  const dearer = (factor: number, date = '2027-03-01'): string =>
    writeCatalogue({
      date,
      rows: CATALOGUE.map((row): CatalogueRow => {
        const [price] = row.prices ?? [];
        if (row.id !== NAME || !price) return row;
        return { ...row, contextWindow: 2_000_000, prices: [{ ...price, input: (price.input ?? 0) * factor }] };
      }),
    });

  it('fetches a newer catalogue into the user’s folder, where models take their facts from', async () => {
    await using folder = await temporaryFolder();
    const env = { HOME: folder.path, ANTHROPIC_API_KEY: 'test-key' };
    served = dearer(2);
    const { code, stdout } = await runCli(['models', 'update', address], { env });
    expect([code, stdout]).toEqual([0, expect.stringContaining('as of 2027-03-01')]);
    expect((await runCli(['models', NAME], { env })).stdout).toContain('2,000,000  $4 in');
    const model = await DEFAULT_PARTS.model(`anthropic/${NAME}`, env);
    expect(model.contextWindow).toBe(2_000_000);
    // The default model is the program's own choice.
    const doctor = await runCli(['models', 'update', address], { env });
    expect(doctor.stdout).toContain('Nothing new');
  });

  it('does not take a price that changes fivefold unless somebody says so', async () => {
    await using folder = await temporaryFolder();
    const env = { HOME: folder.path };
    served = dearer(5);
    const file = join(folder.path, '.config/treadle/catalogue.json');
    const refused = await runCli(['models', 'update', address], { env });
    expect(refused).toMatchObject({
      code: 2,
      stdout: expect.stringContaining(`anthropic/${NAME}: input $2 to $10`) as string,
    });
    await expect(readFile(file, 'utf8')).rejects.toThrow('ENOENT');
    const answer = (line: string) => Object.assign(lines(line), { isTTY: true });
    const no = await runCli(['models', 'update', address], { env, isTTY: true, stdin: answer('n\n') });
    expect(no).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing was changed') as string });
    const yes = await runCli(['models', 'update', address], { env, isTTY: true, stdin: answer('y\n') });
    expect(yes).toMatchObject({ code: 0, stdout: expect.stringContaining('as of 2027-03-01') as string });
    served = dearer(25, '2027-04-01');
    expect((await runCli(['models', 'update', address, '--yes'], { env })).code).toBe(0);
    expect(await readFile(file, 'utf8')).toBe(served);
  });

  it.each([
    ['a page that is no catalogue', () => '<html>', 'not JSON'],
    [
      'a row that can’t be right',
      () => '{"format":1,"date":"2027-03-01","rows":[{"provider":"a","id":"b","outputLimit":-1}]}',
      'outputLimit',
    ],
  ])('refuses %s, and changes nothing', async (_what, text, message) => {
    await using folder = await temporaryFolder();
    served = text();
    const { code, stderr } = await runCli(['models', 'update', address], { env: { HOME: folder.path } });
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('refuses an address that is not there, and one that anybody could answer for', async () => {
    const env = { HOME: '/nonexistent' };
    expect((await runCli(['models', 'update', address.replace('catalogue', 'other')], { env })).stderr).toContain(
      'status 404',
    );
    expect((await runCli(['models', 'update', 'http://example.com/catalogue.json'], { env })).stderr).toContain(
      'https://',
    );
  });
});

async function* lines(text: string): AsyncGenerator<string> {
  yield text;
}
