import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { defineTool, type Tool } from '@treadle/core';
import { chromium as browsers, type Page } from 'playwright-core';
import type { FileState } from './file.ts';
import type { ImageStore } from './images.ts';
import { LIBRARIES, PREVIEW_POLICY } from './policy.ts';

const SIZES = { desktop: [1280, 800], tablet: [834, 1112], phone: [390, 844] } as const;
const TIMEOUT_MS = 30_000;
/** No host of this name exists: the page is answered from here. */
const ADDRESS = 'https://preview.invalid/';

/** Shows the model what its page looks like. */
export const screenshotTool = (file: FileState, executablePath: string, store: ImageStore): Tool =>
  defineTool({
    name: 'screenshot_preview',
    description: 'Takes a picture of the page as it is now, so that you can check how it looks.',
    inputSchema: {
      type: 'object',
      properties: { device: { enum: ['desktop', 'tablet', 'phone'], description: 'Default: desktop.' } },
      additionalProperties: false,
    },
    readOnly: true,
    timeoutMs: TIMEOUT_MS,
    execute: async (input, { signal }) => {
      if (file.content === null) throw new Error('There is no file yet. Write it with create_file.');
      const device = isDevice(input.device) ? input.device : 'desktop';
      const [width, height] = SIZES[device];
      const bytes = await screenshotOf(file.content, { executablePath, width, height, signal });
      const url = store.keep(bytes, 'image/png');
      return {
        content: [
          { type: 'text', text: `The page on a ${device}, ${width} by ${height}.` },
          { type: 'image', mediaType: 'image/png', data: bytes.toString('base64') },
        ],
        details: { summary: { device, width, height, url } },
      };
    },
  });

const isDevice = (value: unknown): value is keyof typeof SIZES => typeof value === 'string' && value in SIZES;

interface Shot {
  readonly executablePath: string;
  readonly width: number;
  readonly height: number;
  readonly signal: AbortSignal;
}

/**
 * A picture of a page that nobody trusts. It is shown under the policy of the previews, and the browser is let through to the
 * hosts of libraries only, whatever the page does.
 */
async function screenshotOf(html: string, { executablePath, width, height, signal }: Shot): Promise<Buffer> {
  const profile = await mkdtemp(join(tmpdir(), 'streamed-file-'));
  const context = await browsers.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    // Chromium refuses to run its own sandbox as root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: ['--disable-gpu', '--no-first-run', '--force-webrtc-ip-handling-policy=disable_non_proxied_udp', RESOLVES],
    viewport: { width, height },
    acceptDownloads: false,
    serviceWorkers: 'block',
  });
  const stop = (): void => void context.close().catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  try {
    const page = await context.newPage();
    await confine(page, html);
    await page.goto(ADDRESS, { waitUntil: 'load', timeout: TIMEOUT_MS / 2 });
    return await page.screenshot({ animations: 'disabled', timeout: TIMEOUT_MS / 2 });
  } finally {
    signal.removeEventListener('abort', stop);
    await context.close().catch(() => {});
    await rm(profile, { recursive: true, force: true });
  }
}

const HOSTS = LIBRARIES.split(' ').map((origin) => new URL(origin).host);
/** Other names stand for no address, so that nothing beside HTTP gets out either. */
const RESOLVES = `--host-resolver-rules=MAP * ~NOTFOUND, ${HOSTS.map((host) => `EXCLUDE ${host}`).join(', ')}`;

async function confine(page: Page, html: string): Promise<void> {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PREVIEW_POLICY };
  await page.route('**/*', async (route) => {
    const url = new URL(route.request().url());
    if (url.href === ADDRESS) await route.fulfill({ headers, body: html });
    else if (url.protocol === 'https:' && HOSTS.includes(url.host)) await route.continue();
    else await route.abort();
  });
}
