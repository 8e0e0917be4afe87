import { expect, test } from 'vitest';
import { looksSecret, withoutSecrets } from './environment.ts';

test.each([
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'OPENAI_API_KEY',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_ACCESS_KEY_ID',
  'AWS_SESSION_TOKEN',
  'GH_TOKEN',
  'npm_config__authToken',
  'DB_PASSWORD',
  'PGPASSWORD',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'client-secret',
  'SENTRY_DSN',
  'JWT',
])('%s looks like a secret', (name) => {
  expect(looksSecret(name, 'x')).toBe(true);
});

test.each([
  'PATH',
  'HOME',
  'PWD',
  'LANG',
  'SSH_AUTH_SOCK',
  'TOKENIZERS_PARALLELISM',
  'KEYBOARD',
  'EDITOR',
  'PASSENGER',
])('%s does not', (name) => {
  expect(looksSecret(name, '/usr/bin')).toBe(false);
});

test('a URL with a password is a secret whatever its name, one without is not', () => {
  const urls = {
    A: 'https://user:pass@host/x',
    B: 'https://host:80/@x',
    C: 'redis://:pass@host',
    D: 'https://user@host',
  };
  expect(Object.keys(withoutSecrets({ ...urls, E: undefined }))).toEqual(['B', 'D']);
});
