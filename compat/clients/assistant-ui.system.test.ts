import { defineAgent, defineTool, memoryJournal } from '@treadle/core';
import { serve } from '@treadle/server';
import { scriptedModel, type Turn } from '@treadle/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bundled, servePage, startBrowser } from './browser.ts';

let browser: Awaited<ReturnType<typeof startBrowser>>;
let site: Awaited<ReturnType<typeof servePage>>;

beforeAll(async () => {
  browser = await startBrowser();
  site = await servePage(await bundled('assistant-ui-page.jsx'));
});
afterAll(async () => {
  site.close();
  await browser.close();
});

const buy = defineTool({ name: 'buy', description: 'Buys.', approval: 'always', execute: () => 'one umbrella' });

/** A server, and a page of another origin that chats with its agent. */
async function started(turns: readonly Turn[], query = '') {
  const model = scriptedModel(turns);
  const serving = await serve({
    agents: [defineAgent({ model, tools: [buy] })],
    journal: memoryJournal(),
    offeredTools: true,
    origins: { origins: [site.origin] },
  });
  onTestFinished(async () => {
    await serving.close(0);
  });
  const page = await browser.context.newPage();
  onTestFinished(() => page.close());
  const settings = { url: serving.url, token: serving.token, id: `thread-${serving.port}`, query };
  await page.goto(`${site.origin}/#${encodeURIComponent(JSON.stringify(settings))}`);
  return { page, model };
}

async function say(page: Page, text: string): Promise<void> {
  await page.fill('input', text);
  await page.click('#send');
}

const has = (page: Page, text: string) => page.locator('article.assistant', { hasText: text }).first().waitFor();

describe('@assistant-ui/react-ag-ui', () => {
  it('text: from another origin', async () => {
    const { page } = await started([{ text: 'Good day.' }]);
    await say(page, 'Hello.');
    await has(page, 'Good day.');
  });

  it('frontend tool: it runs in the page, and its result goes back', async () => {
    const { page, model } = await started([
      { toolCalls: [{ name: 'set_colour', arguments: { colour: 'red' } }] },
      { text: 'It is red.' },
    ]);
    await say(page, 'Make it red.');
    await has(page, 'It is red.');
    expect(await page.evaluate('document.body.style.background')).toBe('red');
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('The page is red.');
  });

  it('approval: an interrupt that is resumed', async () => {
    const { page, model } = await started([{ toolCalls: [{ name: 'buy' }] }, { text: 'It is yours.' }]);
    await say(page, 'An umbrella.');
    await page.click('#approve');
    await has(page, 'It is yours.');
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('one umbrella');
  });

  it('stop then write: the run ends, and the message is answered', async () => {
    const until = new Promise<void>(() => {});
    const slow: Turn = { text: 'One two three.', chunkSize: 4, waitAfter: { deltas: 1, until } };
    const { page } = await started([slow, { text: 'As you like.' }], '?onClose=cancel');
    await say(page, 'Count.');
    await has(page, 'One');
    await page.click('#stop');
    await page.waitForSelector('main[data-status=ready]');
    await say(page, 'Never mind.');
    await has(page, 'As you like.');
  });
});
