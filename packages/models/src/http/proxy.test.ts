import { describe, expect, it } from 'vitest';
import { knowsProxies, proxyEnvironment, proxyUnsupported, wantsProxy } from './proxy.ts';

describe('the environment', () => {
  it('names proxies in upper and lower case, and lower case wins', () => {
    expect(proxyEnvironment({ HTTPS_PROXY: 'http://a', https_proxy: 'http://b', no_proxy: 'c' })).toEqual({
      HTTPS_PROXY: 'http://b',
      NO_PROXY: 'c',
    });
  });

  it('without a proxy needs no proxy', () => {
    expect(proxyEnvironment({ NO_PROXY: 'a', HTTP_PROXY: '' })).toBeUndefined();
  });
});

describe('Node', () => {
  it.each([
    ['v24.5.0', true],
    ['v24.4.1', false],
    ['v25.0.0', true],
    ['v22.21.0', true],
    ['v22.20.0', false],
    ['v23.11.0', false],
  ])('%s knows proxies: %s', (version, expected) => {
    expect(knowsProxies(version)).toBe(expected);
  });

  it('that does not is told of, with what to do', () => {
    expect(proxyUnsupported('v22.19.0')).toMatchObject({ code: 'invalid_definition' });
    expect(proxyUnsupported('v22.19.0').message).toMatch(/v22\.19\.0.*24\.5.*NO_PROXY/s);
  });
});

describe('a request', () => {
  const proxies = (noProxy: string): Record<string, string> => ({ HTTPS_PROXY: 'http://proxy', NO_PROXY: noProxy });

  it.each([
    ['https://api.example.com/', '', true],
    ['http://api.example.com/', '', false],
    ['https://api.example.com/', 'example.com', true],
    ['https://api.example.com/', '.example.com', false],
    ['https://api.example.com/', '*.example.com', false],
    ['https://example.com/', 'example.com', false],
    ['https://api.example.com/', 'other.com, API.example.com', false],
    ['https://api.example.com:8443/', 'api.example.com:443', true],
    ['https://api.example.com/', 'api.example.com:443', false],
    ['https://api.example.com/', '*', false],
  ])('to %s with NO_PROXY=%j wants a proxy: %s', (url, noProxy, expected) => {
    expect(wantsProxy(new URL(url), proxies(noProxy))).toBe(expected);
  });

  it('wants none when none is named', () => {
    expect(wantsProxy(new URL('https://example.com'), undefined)).toBe(false);
  });
});
