// The streamed-file application: `npx node --conditions=treadle-source examples/streamed-file/main.ts`. Keys come from the
// environment; without any, the demo model writes.

import process from 'node:process';

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

const app = await startApp({
  models: (keys) => availableModels(env, keys),
  images: services,
  port: Number(env['PORT'] ?? 7001),
});
const models = availableModels(env, {}).map(({ provider, id }) => `${provider}/${id}`);

console.log(`Open ${app.url} and give it this token: ${app.token}`);
console.log(
  models.length > 0
    ? `Pages are written by ${models.join(', ')}.`
    : 'There is no GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY: the demo model writes, a script and no language model.' +
        '\nIt takes a title and a text from the prompt, such as: A page titled "Hello" with the text "Welcome"',
);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void app.close());
