// The streamed-file application: `npx node --conditions=treadle-source examples/streamed-file/main.ts`. Keys come from the
// environment; without any, the demo model writes.

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

import { sqliteJournal } from '@treadle/store';
import { startApp } from './app.ts';
import type { ImageServices } from './images.ts';
import { availableModels } from './models.ts';

const { env } = process;

const services: ImageServices = {
  ...(env['OPENAI_API_KEY']
    ? {
        generate: {
          baseUrl: env['OPENAI_BASE_URL'] ?? 'https://api.openai.com/v1',
          apiKey: env['OPENAI_API_KEY'],
          model: env['IMAGE_MODEL'] ?? 'gpt-image-1',
        },
      }
    : {}),
  ...(env['REPLICATE_API_TOKEN'] && env['REPLICATE_BACKGROUND_VERSION']
    ? {
        background: {
          baseUrl: env['REPLICATE_BASE_URL'] ?? 'https://api.replicate.com/v1',
          apiKey: env['REPLICATE_API_TOKEN'],
          model: env['REPLICATE_BACKGROUND_VERSION'],
        },
      }
    : {}),
};

const folder = env['DATA_DIR'] ?? '.treadle/streamed-file';
mkdirSync(folder, { recursive: true, mode: 0o700 });
const journal = sqliteJournal({ path: join(folder, 'journal.db') });
const chromium = findChromium();
const app = await startApp({
  models: (keys) => availableModels(env, keys),
  images: services,
  journal,
  imageFolder: join(folder, 'images'),
  ...(chromium && { chromium }),
  token: ownToken(join(folder, 'token')),
  port: Number(env['PORT'] ?? 7001),
  ...(env['DEMO_DELAY_MS'] && { demoDelayMs: Number(env['DEMO_DELAY_MS']) }),
});
const models = availableModels(env, {}).map(({ provider, id }) => `${provider}/${id}`);

console.log(`Open ${app.url} and give it this token: ${app.token}`);
console.log(
  models.length > 0
    ? `Pages are written by ${models.join(', ')}.`
    : 'There is no GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY: demo models write, scripts and no language models.',
);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(
    signal,
    () =>
      void app
        .close()
        .then(() => journal.close())
        .then(() => process.exit()),
  );
}

/** The same token after a restart, so that browsers stay signed in. */
function ownToken(path: string): string {
  if (!existsSync(path)) writeFileSync(path, randomBytes(24).toString('base64url'), { mode: 0o600 });
  return readFileSync(path, 'utf8').trim();
}

/** `CHROMIUM`, else one where it commonly is. */
function findChromium(): string | undefined {
  const common = [
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ];
  return env['CHROMIUM'] ?? common.find((path) => existsSync(path));
}
