import { TreadleError } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { connectionError, excerptOf, reportedError, requestIdOf, retryAfter } from './classify.ts';
import { createRedact } from './redact.ts';

const redact = createRedact(['the-secret-key']);
const facts = { redact, now: Date.parse('2026-01-01T00:00:00Z') };

describe('a status', () => {
  it.each([
    [400, 'api', false],
    [401, 'auth', false],
    [402, 'api', false],
    [403, 'auth', false],
    [404, 'api', false],
    [408, 'network', true],
    [413, 'api', false],
    [422, 'api', false],
    [429, 'rate_limited', true],
    [500, 'api', true],
    [503, 'api', true],
    [529, 'api', true],
  ])('%i is %s, retryable: %s', (status, kind, retryable) => {
    expect(reportedError({ message: 'No.' }, status, { ...facts, body: 'No.' })).toMatchObject({
      kind,
      retryable,
      status,
    });
  });
});

describe('a context overflow', () => {
  it.each([
    'prompt is too long: 3 tokens > 2 maximum',
    'Input is too long for requested model.',
    'Your input exceeds the context window of this model',
    'The input token count (3) exceeds the maximum number of tokens allowed (2)',
    "This model's maximum prompt length is 2",
    'Please reduce the length of the messages or completion',
    "This model's maximum context length is 2 tokens",
    'prompt token count of 3 exceeds the limit of 2',
    'the request exceeds the available context size',
    'tokens to keep from the initial prompt is greater than the context length',
    'the input length exceeds the context length',
    'prompt too long; exceeded max context length by 3 tokens',
    'invalid params, context window exceeds limit (2013)',
    'Invalid request: Your request exceeded model token limit: 2',
    'Context length exceeded',
    'Too many tokens',
    'Token limit exceeded',
  ])('is what “%s” means', (message) => {
    expect(reportedError({ message }, 400, facts)).toMatchObject({ kind: 'context_overflow', retryable: false });
  });

  it('is also told by a code, and before a rate limit', () => {
    const error = { message: 'No.', code: 'context_length_exceeded' };
    expect(reportedError(error, 429, facts).kind).toBe('context_overflow');
  });

  it('is what 400 and 413 with an empty body mean', () => {
    expect(reportedError({ message: 'HTTP 413' }, 413, { ...facts, body: '' }).kind).toBe('context_overflow');
    expect(reportedError({ message: 'HTTP 400' }, 400, { ...facts, body: '' }).kind).toBe('context_overflow');
    expect(reportedError({ message: 'HTTP 500' }, 500, { ...facts, body: '' }).kind).toBe('api');
  });

  it('is no reason to be refused', () => {
    expect(reportedError({ message: 'too many tokens' }, 401, facts).kind).toBe('auth');
  });
});

describe('the wait', () => {
  it.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' }, 9000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '120', 'retry-after': '7' }, 120],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-1' }, undefined],
    [{}, undefined],
  ])('of %j is %s ms', (headers, expected) => {
    expect(retryAfter(headers, facts.now)).toBe(expected);
  });
});

describe('what an error carries', () => {
  it('is the request’s id, from any of its headers', () => {
    expect(requestIdOf({ 'request-id': 'req_1' }, redact)).toBe('req_1');
    expect(requestIdOf({ 'x-request-id': 'req_2' }, redact)).toBe('req_2');
    expect(requestIdOf({}, redact)).toBeUndefined();
  });

  it.each(['request-id', 'x-request-id', 'x-amzn-requestid', 'apim-request-id', 'cf-ray'])(
    'is no secret that a server sends back in %s, however it is spelt',
    (name) => {
      const secret = 'the-secret-key';
      for (const spelt of [secret, btoa(secret), btoa(`user:${secret}`), encodeURIComponent(`/${secret}`)]) {
        const error = reportedError({ message: 'No.' }, 401, { ...facts, headers: { [name]: `req ${spelt}` } });
        expect(error.requestId).toContain('[redacted]');
        expect(JSON.stringify(error)).not.toContain(spelt);
      }
      const long = reportedError({ message: 'No.' }, 500, { ...facts, headers: { [name]: 'x'.repeat(1e6) } });
      expect(long.requestId?.length).toBeLessThan(300);
    },
  );

  it('is an excerpt without secrets, cut after they are gone', () => {
    expect(excerptOf(`${'x'.repeat(10)} the-secret-key`, redact, 18)).toBe('xxxxxxxxxx [redact…');
    const error = reportedError({ message: 'bad the-secret-key' }, 401, { ...facts, body: '{"key":"the-secret-key"}' });
    expect(JSON.stringify(error)).not.toContain('the-secret');
  });

  it('is nothing a server could grow without bound', () => {
    const error = reportedError({ message: 'x'.repeat(1e6) }, 500, { ...facts, body: 'y'.repeat(1e6) });
    expect(JSON.stringify(error).length).toBeLessThan(4000);
  });
});

describe('a failed connection', () => {
  const coded = (code: string, message = 'failed'): Error => Object.assign(new Error(message), { code });

  it.each(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT', 'TREADLE_IDLE_TIMEOUT'])(
    '%s may be tried again',
    (code) => {
      expect(connectionError(coded(code), redact)).toMatchObject({ kind: 'network', retryable: true, code });
    },
  );

  it('of `fetch` is told by its cause', () => {
    const error = new TypeError('fetch failed', { cause: coded('ECONNREFUSED', 'connect ECONNREFUSED') });
    expect(connectionError(error, redact)).toMatchObject({
      kind: 'network',
      code: 'ECONNREFUSED',
      message: 'fetch failed: connect ECONNREFUSED',
    });
  });

  it('for a certificate stays failed', () => {
    expect(connectionError(coded('SELF_SIGNED_CERT_IN_CHAIN'), redact).retryable).toBe(false);
    expect(connectionError(coded('ERR_TLS_CERT_ALTNAME_INVALID'), redact).retryable).toBe(false);
  });

  it('that was never tried, because the definition can not work, is no network’s fault', () => {
    const error = new TreadleError('invalid_definition', 'Use a later Node.');
    expect(connectionError(error, redact)).toMatchObject({
      kind: 'other',
      retryable: false,
      message: 'Use a later Node.',
    });
  });

  it('may be anything that was thrown', () => {
    expect(connectionError(undefined, redact).kind).toBe('network');
    expect(connectionError('the-secret-key', redact).message).toBe('[redacted]');
  });
});
