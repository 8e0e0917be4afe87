import { defineAgent, defineTool, memoryJournal } from '@treadle/core';
import { serve, type Serving } from '@treadle/server';
import { scriptedModel, type Turn } from '@treadle/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bundled, servePage, startBrowser } from './browser.ts';

let browser: Awaited<ReturnType<typeof startBrowser>>;
let site: Awaited<ReturnType<typeof servePage>>;

beforeAll(async () => {
  browser = await startBrowser();
  site = await servePage(await bundled('use-chat-page.jsx'));
});
afterAll(async () => {
  site.close();
  await browser.close();
});

const locate = defineTool({
  name: 'locate',
  description: 'Where the page is.',
  runs: 'client',
  inputSchema: { type: 'object' },
});
const buy = defineTool({ name: 'buy', description: 'Buys.', approval: 'always', execute: () => 'one umbrella' });

/** A server, and pages of another origin that chat with its agent. */
async function started(turns: readonly Turn[] | ((index: number, said: string) => Turn)) {
  const model = scriptedModel(
    typeof turns === 'function'
      ? ({ messages }, index) => {
          const block = messages.findLast(({ role }) => role === 'user')?.content.at(-1);
          return turns(index, block?.type === 'text' ? block.text : '');
        }
      : turns,
  );
  const serving = await serve({
    agents: [defineAgent({ model, tools: [locate, buy] })],
    journal: memoryJournal(),
    origins: { origins: [site.origin] },
  });
  onTestFinished(async () => {
    await serving.close(0);
  });
  return { serving, model, chat: `chat-${serving.port}` };
}

async function openPage(serving: Serving, id: string, query = ''): Promise<Page> {
  const page = await browser.context.newPage();
  onTestFinished(() => page.close());
  const settings = { url: serving.url, token: serving.token, id, query, resume: true };
  await page.goto(`${site.origin}/#${encodeURIComponent(JSON.stringify(settings))}`);
  await ready(page);
  return page;
}

async function say(page: Page, text: string, button = '#send'): Promise<void> {
  await page.fill('input', text);
  await page.locator(button).first().click();
}

const ready = (page: Page) => page.waitForSelector('main[data-status=ready]');
const told = (page: Page) => page.locator('article > span').allTextContents();
const has = (page: Page, text: string) => page.locator('article', { hasText: text }).first().waitFor();

/** A reply that stops in the middle until it is let go on. */
function gate() {
  const { promise: until, resolve } = Promise.withResolvers<void>();
  const slow: Turn = { text: 'One two three.', chunkSize: 4, waitAfter: { deltas: 1, until } };
  return { slow, finish: () => resolve() };
}

describe('@ai-sdk/react', () => {
  it('cross-origin: a new chat that resumes has nothing to resume, and then talks', async () => {
    const { serving, chat } = await started([{ text: 'Good day.' }]);
    const page = await openPage(serving, chat);
    expect(await page.textContent('#error')).toBe('');
    await say(page, 'Hello.');
    await has(page, 'Good day.');
    expect(await told(page)).toEqual(['Hello.', 'Good day.']);
  });

  it('client tool and approval: typed parts, in one message', async () => {
    const { serving, chat } = await started([
      { toolCalls: [{ name: 'locate' }] },
      { toolCalls: [{ name: 'buy' }] },
      { text: 'It is yours.' },
    ]);
    const page = await openPage(serving, chat);
    await say(page, 'An umbrella for here.');
    await page.click('#approve');
    await has(page, 'It is yours.');
    expect(await page.textContent('.locate')).toBe('output-available 59.9, 10.7');
    expect(await page.textContent('.buy')).toBe('output-available one umbrella');
    expect(await page.locator('article').count()).toBe(2);
  });

  it('stop, then write: the run ends where the page says so, and the message is answered', async () => {
    const { slow } = gate();
    const { serving, chat } = await started((index, said) => (index === 0 ? slow : { text: `You said ${said}` }));
    const page = await openPage(serving, chat, '?onClose=cancel');
    await say(page, 'Count.');
    await has(page, 'One ');
    await page.click('#stop');
    await ready(page);
    await say(page, 'Never mind.');
    await has(page, 'You said Never mind.');
    expect(await page.textContent('#error')).toBe('');
  });

  it('writing while an approval waits: the run goes on with the message', async () => {
    const { serving, chat } = await started([{ toolCalls: [{ name: 'buy' }] }, { text: 'As you like.' }]);
    const page = await openPage(serving, chat);
    await say(page, 'An umbrella.');
    await page.waitForSelector('#approve');
    await say(page, 'No, wait.');
    await has(page, 'As you like.');
    expect(await page.textContent('#error')).toBe('');
  });

  it('edit: the model sees the edited message only', async () => {
    const { serving, chat, model } = await started([{ text: 'one' }, { text: 'two' }, { text: 'three' }]);
    const page = await openPage(serving, chat);
    await say(page, 'A');
    await has(page, 'one');
    await say(page, 'B');
    await has(page, 'two');
    await say(page, 'A-edited', '.edit');
    await has(page, 'three');
    expect(await told(page)).toEqual(['A-edited', 'three']);
    expect(model.requests[2]?.messages.map(({ content }) => content)).toMatchObject([[{ text: 'A-edited' }]]);
  });

  it('regenerate: another reply to the same message', async () => {
    const { serving, chat, model } = await started([{ text: 'Heads.' }, { text: 'Tails.' }]);
    const page = await openPage(serving, chat);
    await say(page, 'Toss a coin.');
    await has(page, 'Heads.');
    await page.click('#again');
    await has(page, 'Tails.');
    expect(await told(page)).toEqual(['Toss a coin.', 'Tails.']);
    expect(model.requests[1]?.messages).toHaveLength(1);
  });

  it('reload and second tab in mid-stream: both go on with the same message', async () => {
    const { slow, finish } = gate();
    const { serving, chat } = await started([slow, { text: 'Four.' }]);
    const page = await openPage(serving, chat);
    await say(page, 'Count.');
    await has(page, 'One ');
    await page.reload();
    await has(page, 'One ');
    const tab = await browser.context.newPage();
    onTestFinished(() => tab.close());
    await tab.goto(page.url());
    await has(tab, 'One ');
    finish();
    for (const each of [page, tab]) {
      await has(each, 'One two three.');
      await ready(each);
      expect(await told(each)).toEqual(['Count.', 'One two three.']);
    }
    await say(tab, 'And then?');
    await has(tab, 'Four.');
  });
});
