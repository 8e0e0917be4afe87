import { defineAgent, memoryJournal } from '@treadle/core';
import { serve } from '@treadle/server';
import { scriptedModel } from '@treadle/testing';
import { EventSource } from 'eventsource';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { servePage, startBrowser } from './browser.ts';

let browser: Awaited<ReturnType<typeof startBrowser>>;
let site: Awaited<ReturnType<typeof servePage>>;

/** A page that counts what its EventSource gets. */
const PAGE = `
  window.listen = (url, withCredentials) => {
    window.types = [];
    window.opened = 0;
    window.source = new EventSource(url, { withCredentials });
    window.source.onopen = () => { window.opened += 1; };
    window.source.onmessage = ({ data }) => window.types.push(JSON.parse(data).type);
  };
`;

beforeAll(async () => {
  browser = await startBrowser();
  site = await servePage(PAGE);
});
afterAll(async () => {
  site.close();
  await browser.close();
});

async function started(options: object = {}) {
  const serving = await serve({
    agents: [defineAgent({ model: scriptedModel(['Hello.', 'Hello again.']) })],
    journal: memoryJournal(),
    tokens: [{ name: 'me', token: 'a-token-of-my-own' }],
    origins: { origins: [site.origin] },
    limits: { retryMs: 100 },
    ...options,
  });
  onTestFinished(async () => {
    await serving.close(0);
  });
  const headers = { authorization: 'Bearer a-token-of-my-own', 'content-type': 'application/json' };
  const post = async (path: string, body: object) =>
    (await fetch(`${serving.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json() as Promise<{
      readonly ticket: string;
    }>;
  await post('/v1/sessions', { id: 's1' });
  return { serving, post };
}

async function openPage() {
  const page = await browser.context.newPage();
  onTestFinished(() => page.close());
  await page.goto(site.origin);
  await page.waitForFunction('window.listen');
  return page;
}

describe('EventSource of Chromium', () => {
  it('one-time ticket: reads a stream of another origin, and comes back after a break', async () => {
    const { serving, post } = await started();
    const { ticket } = await post('/v1/sessions/s1/tickets', {});
    const page = await openPage();
    await page.evaluate(`listen(${JSON.stringify(`${serving.url}/v1/sessions/s1/stream?ticket=${ticket}`)})`);
    await page.waitForFunction('types.length === 1');
    serving.server.parts.connections.endAll({ reason: 'finished' });
    await post('/v1/sessions/s1/runs', { input: 'Hi.' });
    await page.waitForFunction('types.includes("run_ended")');
    expect(await page.evaluate('[opened, types.filter((type) => type === "session_created").length]')).toEqual([2, 1]);
  });

  it('cookie: reads a stream of another origin', async () => {
    const { serving, post } = await started({ cookie: 'agents' });
    const [cookie] = [{ name: 'agents', value: 'a-token-of-my-own', url: serving.url }];
    await browser.context.addCookies([cookie]);
    const page = await openPage();
    await page.evaluate(`listen(${JSON.stringify(`${serving.url}/v1/sessions/s1/stream`)}, true)`);
    await post('/v1/sessions/s1/runs', { input: 'Hi.' });
    await page.waitForFunction('types.includes("run_ended")');
    expect(await page.evaluate('opened')).toBe(1);
  });

  it('too many streams: comes back until it is served', async () => {
    const { serving, post } = await started({ cookie: 'agents', limits: { retryMs: 100, streams: 1 } });
    await browser.context.addCookies([{ name: 'agents', value: 'a-token-of-my-own', url: serving.url }]);
    const only = await fetch(`${serving.url}/v1/sessions/s1/stream`, {
      headers: { authorization: 'Bearer a-token-of-my-own' },
    });
    const page = await openPage();
    await page.evaluate(`listen(${JSON.stringify(`${serving.url}/v1/sessions/s1/stream`)}, true)`);
    await page.waitForFunction('opened > 1');
    await only.body?.cancel();
    await post('/v1/sessions/s1/runs', { input: 'Hi.' });
    await page.waitForFunction('types.includes("run_ended")');
  });
});

describe('eventsource', () => {
  it('bearer token: reads a stream', async () => {
    const { serving, post } = await started();
    const source = new EventSource(`${serving.url}/v1/sessions/s1/stream`, {
      fetch: (url, init) =>
        fetch(url, { ...init, headers: { ...init.headers, authorization: 'Bearer a-token-of-my-own' } }),
    });
    onTestFinished(() => source.close());
    const ended = new Promise<void>((resolve) => {
      source.addEventListener('message', ({ data }) => {
        if ((JSON.parse(data as string) as { type: string }).type === 'run_ended') resolve();
      });
    });
    await post('/v1/sessions/s1/runs', { input: 'Hi.' });
    await ended;
  });
});
