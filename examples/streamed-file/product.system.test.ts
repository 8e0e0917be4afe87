// What people do with the application, in headless Chromium, from a durable journal.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { sqliteJournal } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startApp, type App, type AppOptions } from './app.ts';
import { gatedModel } from './gated-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'treadle-pages-'));
/**
 * Where the pictures go: a folder of the test's own unless `TREADLE_PICTURES` names one. Those of `docs/images` are
 * `4-complete` and `6-changed`.
 */
const pictures = process.env['TREADLE_PICTURES'] ?? join(folder, 'pictures');
let browser: BrowserContext;

beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  browser = await chromium.launchPersistentContext(join(folder, 'profile'), {
    executablePath: '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
    permissions: ['clipboard-read', 'clipboard-write'],
    acceptDownloads: true,
  });
});
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

const TOKEN = 'a-token-that-outlives-the-server';
let journals = 0;

/** The application with a journal in a file. `restart` ends the process's part and begins anew on the same port. */
async function durable(options: AppOptions = {}) {
  journals += 1;
  const path = join(folder, `journal-${journals}.db`);
  const start = async (port?: number): Promise<{ readonly app: App; readonly stop: () => Promise<void> }> => {
    const journal = sqliteJournal({ path });
    const app = await startApp({ ...options, journal, token: TOKEN, ...(port !== undefined && { port }) });
    return {
      app,
      stop: async () => {
        await app.close(0);
        await journal.close();
      },
    };
  };
  let running = await start();
  const page = await browser.newPage();
  onTestFinished(async () => {
    await page.close();
    await running.stop();
  });
  await browser.clearCookies();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(running.app.url);
  return {
    page,
    async restart() {
      const { port } = running.app;
      await running.stop();
      running = await start(port);
    },
  };
}

async function signIn(page: Page): Promise<void> {
  await page.fill('#token', TOKEN);
  await page.press('#token', 'Enter');
  await page.locator('#login').waitFor({ state: 'hidden' });
}

async function ask(page: Page, text: string): Promise<void> {
  await page.fill('#prompt', text);
  await page.press('#prompt', 'Enter');
}

const card = (page: Page, index: number, state = 'complete') =>
  page.locator(`[data-index="${index}"][data-state="${state}"]`);

const preview = (page: Page, index: number) =>
  page.frameLocator(`[data-index="${index}"] > iframe`).frameLocator('iframe.shown');

/** Waits until the pages in the previews have the width of their frames, which follows that of the window. */
async function fitted(page: Page): Promise<void> {
  for (const frame of await page.locator('[data-state="complete"] > iframe:visible').all()) {
    const inside = frame.contentFrame().frameLocator('iframe.shown').locator('html');
    await expect
      .poll(() => inside.evaluate('(html) => html.clientWidth'))
      .toBe(await frame.evaluate('(it) => it.clientWidth'));
  }
}

/** Pictures as on a desktop and a phone, light and dark. */
async function picture(page: Page, name: string): Promise<void> {
  for (const width of [1440, 400]) {
    await page.setViewportSize({ width, height: width === 400 ? 820 : 900 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await fitted(page);
      // Nothing is wider than the window.
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`) });
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1440, height: 900 });
}

it('writes four different pages without a key, and changes the chosen one while the others stay', async () => {
  const { page } = await durable();
  await picture(page, '1-login');
  await page.fill('#token', 'not-the-token-of-this-server');
  await page.press('#token', 'Enter');
  await page.getByText('That is not the token of this server.').waitFor();
  await signIn(page);
  await picture(page, '2-empty');
  await ask(page, 'A landing page for a neighbourhood bakery');
  await preview(page, 0).locator('h1').waitFor();
  await picture(page, '3-writing');
  for (const index of [0, 1, 2, 3]) await card(page, index).waitFor();
  const texts = await Promise.all([0, 1, 2, 3].map((index) => preview(page, index).locator('style').textContent()));
  expect(new Set(texts).size).toBe(4);
  expect(await card(page, 0).locator('.status').textContent()).toMatch(/^Complete · [\d.]+ s · [\d.]+k tokens · \$0$/);
  await picture(page, '4-complete');
  // All four are in view on a laptop, each large enough to judge, and its title on one line.
  for (const index of [0, 1, 2, 3]) {
    const box = await card(page, index).boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(900);
    expect(box?.width).toBeGreaterThanOrEqual(480);
    expect((await card(page, index).locator('header').boundingBox())?.height).toBeLessThanOrEqual(48);
  }

  await page.click('[data-index="1"] .update');
  await picture(page, '5-one');
  await ask(page, 'Change the headline to "Baked at dawn" and make it green');
  await preview(page, 1).getByRole('heading', { name: 'Baked at dawn' }).waitFor();
  await card(page, 1).waitFor({ state: 'attached' });
  await page.locator('#versions').waitFor();
  await picture(page, '6-changed');
  await page.getByRole('button', { name: 'All', exact: true }).click();
  for (const index of [0, 2, 3]) {
    expect(await preview(page, index).locator('h1').textContent()).toBe('Slow mornings, warm bread');
  }

  // Back and forth between the versions, also after a reload.
  await page.getByRole('button', { name: 'Variant 2', exact: true }).click();
  await page.click('#undo');
  await preview(page, 1).getByRole('heading', { name: 'Slow mornings' }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Variant 2', exact: true }).click();
  await preview(page, 1).getByRole('heading', { name: 'Slow mornings' }).waitFor();
  await page.click('#redo');
  await preview(page, 1).getByRole('heading', { name: 'Baked at dawn' }).waitFor();
  await page.click('#undo');
  // A change goes on from the version that is shown.
  await ask(page, 'Add a section about opening hours');
  await preview(page, 1).getByRole('heading', { name: 'Opening hours' }).waitFor();
  expect(await preview(page, 1).locator('h1').textContent()).toBe('Slow mornings, warm bread');
  expect(await page.locator('#version option').count()).toBe(3);
}, 120_000);

it('shows the code with colors, copies it, and downloads it', async () => {
  const { page } = await durable();
  await signIn(page);
  await ask(page, 'A portfolio for a photographer');
  await card(page, 2).waitFor();
  await page.click('[data-index="2"] .open');
  await page.getByRole('button', { name: 'Code', exact: true }).click();
  const code = (await page.locator('#code pre').textContent()) ?? '';
  expect(code).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
  const colored = (await page.evaluate(
    `['tag', 'name', 'text', 'number'].map((kind) => CSS.highlights.get('code-' + kind).size)`,
  )) as number[];
  for (const count of colored) expect(count).toBeGreaterThan(10);
  await picture(page, '7-code');
  await page.click('#copy');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(code);
  const waiting = page.waitForEvent('download');
  await page.click('#download');
  const download = await waiting;
  expect(download.suggestedFilename()).toBe('index.html');
  expect(readFileSync(await download.path(), 'utf8')).toBe(code);
}, 120_000);

it('shows pages as wide as the device that is chosen', async () => {
  const { page } = await durable();
  await signIn(page);
  await ask(page, 'A dashboard for sales data');
  await card(page, 1).waitFor();
  await page.click('[data-index="1"] .open');
  const width = () => preview(page, 1).locator('html').evaluate('document.documentElement.clientWidth');
  expect(await width()).toBeGreaterThanOrEqual(1100);
  await page.getByRole('button', { name: 'Phone' }).click();
  await expect.poll(width).toBe(390);
  await picture(page, '8-phone');
  await page.getByRole('button', { name: 'Tablet' }).click();
  await expect.poll(width).toBe(834);
}, 120_000);

it('finds a page again after a reload in mid-stream, and writes on after a restart of the server', async () => {
  const html = `<!doctype html><html><body><h1>Tea</h1>${'<p>A line of the page.</p>'.repeat(200)}<p id="end">The end.</p></body></html>`;
  let models = [0, 1, 2, 3].map((index) => gatedModel(`writer-${index}`, html, 2000));
  const { page, restart } = await durable({ models: () => models });
  await signIn(page);
  await ask(page, 'A page about tea');
  await preview(page, 0).getByText('Tea').waitFor();
  await page.reload();
  await preview(page, 0).getByText('Tea').waitFor();
  expect(await page.locator('article[data-state]').count()).toBe(0);
  models[0]?.finish();
  await card(page, 0).waitFor();

  models = [0, 1, 2, 3].map((index) => gatedModel(`writer-${index}`, html, Infinity));
  await restart();
  for (const index of [0, 1, 2, 3]) {
    await card(page, index).waitFor({ timeout: 40_000 });
    await preview(page, index).locator('#end').waitFor({ state: 'attached' });
  }
  await page.reload();
  await card(page, 3).waitFor();
  await page.click('#recent summary');
  await page.getByRole('button', { name: 'A page about tea' }).waitFor();
}, 120_000);

/** The program itself, as a process with its data in the folder. */
async function program(data: string, port: string, delayMs: number) {
  const child = spawn(process.execPath, ['--conditions=treadle-source', join(import.meta.dirname, 'main.ts')], {
    env: { PATH: process.env['PATH'], DATA_DIR: data, PORT: port, DEMO_DELAY_MS: String(delayMs) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  for await (const line of createInterface(child.stdout)) {
    const [, url, token] = /^Open (\S+) and give it this token: (\S+)$/.exec(line) ?? [];
    if (url !== undefined && token !== undefined) return { child, url, token };
  }
  throw new Error('The program ended.');
}

it('writes on after the process was killed, and the browser stays signed in', async () => {
  const data = join(folder, 'killed');
  // So slow that no page is finished when the process is killed.
  const first = await program(data, '0', 1000);
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  await browser.clearCookies();
  await page.goto(first.url);
  await page.fill('#token', first.token);
  await page.press('#token', 'Enter');
  await page.locator('#login').waitFor({ state: 'hidden' });
  await ask(page, 'A landing page for a bakery');
  await page.locator('article[data-index="3"]').waitFor();
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  await page.getByText('The connection broke off.').waitFor();
  await program(data, new URL(first.url).port, 1);
  for (const index of [0, 1, 2, 3]) await card(page, index).waitFor({ timeout: 60_000 });
  await page.reload();
  for (const index of [0, 1, 2, 3]) await card(page, index).waitFor();
}, 120_000);

it('says why a tool or a variant failed, and that a change has changed nothing', async () => {
  const edit = { name: 'edit_file', arguments: { old_text: 'Not there', new_text: 'x' } };
  const model = scriptedModel(({ messages }) => {
    if (messages.at(-1)?.role === 'tool') return 'I could not change it.';
    const isFirst = messages.filter(({ role }) => role === 'user').length === 1;
    return { toolCalls: [isFirst ? { name: 'create_file', arguments: { content: '<h1>Tea</h1>' } } : edit] };
  });
  const broken = scriptedModel([], { id: 'broken' });
  const { page } = await durable({ models: () => [model, broken, model, model] });
  await signIn(page);
  await ask(page, 'A page about tea');
  await card(page, 1, 'error').waitFor();
  await card(page, 1, 'error').locator('.failure').getByText('The script has 0 turns').waitFor();
  await card(page, 0).waitFor();
  await picture(page, '9-failed');
  await page.click('[data-index="0"] .update');
  await ask(page, 'Make it blue');
  await card(page, 0, 'unchanged').waitFor();
  await page.locator('#feed').getByText("isn't in the file, so nothing was changed").waitFor();
  await page.locator('#feed').getByText('The page is as it was before.').waitFor();
  await preview(page, 0).getByText('Tea').waitFor();
  await picture(page, '10-unchanged');
}, 120_000);

it('lets the model look at its page, and keep what was attached', async () => {
  const seen: string[] = [];
  const calls = [
    { name: 'save_assets', arguments: { image_numbers: [1, 2] } },
    { name: 'create_file', arguments: { content: '<body style="background:#0a0"><h1>Green</h1></body>' } },
    { name: 'screenshot_preview', arguments: { device: 'phone' } },
  ];
  const model = scriptedModel(({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool');
    const last = results.at(-1)?.content.find(({ type }) => type === 'image');
    if (last?.type === 'image' && 'data' in last) seen.push(last.data);
    const call = calls[results.length];
    return call ? { toolCalls: [call] } : 'Done.';
  });
  const { page } = await durable({ models: () => [model], chromium: '/usr/bin/chromium' });
  await signIn(page);
  await page.setInputFiles('#image', { name: 'a.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') });
  await ask(page, 'Use this logo');
  for (const index of [0, 1, 2, 3]) await card(page, index).waitFor({ timeout: 20_000 });
  expect(seen.length).toBeGreaterThanOrEqual(4);
  const size = Buffer.from(seen[0] ?? '', 'base64');
  expect([size.readUInt32BE(16), size.readUInt32BE(20)]).toEqual([390, 844]);
  const results = JSON.stringify(model.requests.at(-1)?.messages);
  const url = /\/images\/[0-9a-f]{32}\.png/.exec(results)?.[0] ?? '';
  const response = await page.request.get(new URL(url, page.url()).href);
  expect((await response.body()).toString('base64')).toBe(PIXEL);
  expect(results).toContain('There is no image 2: 1 are attached.');
}, 120_000);

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
