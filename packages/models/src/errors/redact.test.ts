import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedact } from './redact.ts';

describe('known secrets', () => {
  it('are replaced as they are, URL-encoded and as JSON has them', () => {
    const redact = createRedact(['pa"ss/word+1']);
    expect(redact('a pa"ss/word+1 b')).toBe('a [redacted] b');
    expect(redact(`u=${encodeURIComponent('pa"ss/word+1')}&`)).toBe('u=[redacted]&');
    expect(redact(JSON.stringify({ k: 'pa"ss/word+1' }))).toBe('{"k":"[redacted]"}');
  });

  it('are replaced whole when one is the beginning of another', () => {
    expect(createRedact(['secret1', 'secret1-longer'])('secret1-longer')).toBe('[redacted]');
  });

  it('never survive, wherever they stand', () => {
    const secret = fc
      .string({ minLength: 8, maxLength: 20 })
      .filter((text) => text.trim() === text && !'[redacted]'.includes(text));
    fc.assert(
      fc.property(secret, fc.string(), fc.string(), (text, before, after) => {
        expect(createRedact([text])(before + text + after)).not.toContain(text);
      }),
    );
  });

  it('that are too short to be any are left alone', () => {
    expect(createRedact(['none', ''])('none of it')).toBe('none of it');
  });
});

describe('credentials of anybody', () => {
  const redact = createRedact([]);

  it.each([
    'Incorrect API key provided: sk-abc12***********wxyz',
    'sk-ant-api03-AAAAAAAAAAAAAAAAAAAA',
    'Authorization: Bearer abcdefghijklmnop',
    'authorization: Basic dXNlcjpwYXNzd29yZA==',
    '{"api_key":"abcdefghijk"}',
    'https://host/path?api-key=abcdefghijk&x=1',
    'x-api-key=abcdefghijk',
    'AIzaSyA0123456789012345678901234567890',
    'AKIAIOSFODNN7EXAMPLE',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc',
  ])('are replaced in %j', (text) => {
    expect(redact(text)).toContain('[redacted]');
    expect(redact(text)).not.toMatch(/abcdefghijk|wxyz|AAAAAAAA|dXNlcj|0123456789|EXAMPLE|eyJ/);
  });

  it('leave ordinary words alone', () => {
    const text = 'The key task-list is invalid: use a bearer of a token, or ask-me-later. Passwords matter.';
    expect(redact(text)).toBe(text);
  });

  it('are looked for in linear time', () => {
    for (const unit of ['sk-', 'bearer ', 'eyJaaaaaaaaaa.', 'api_key=', 'a', '-', 'Bearer  ']) {
      const start = process.cpuUsage();
      redact(unit.repeat(100_000 / unit.length));
      const used = process.cpuUsage(start);
      expect(used.user + used.system).toBeLessThan(2_000_000);
    }
  });
});
