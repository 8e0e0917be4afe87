import { describe, expect, it } from 'vitest';
import { knowsProxies, proxiesOf, proxyUnsupported, type Environment } from './proxy.ts';

const PROXY = 'http://proxy.example:3128/';

const proxyOf = (url: string, env: Environment): string | undefined => proxiesOf(env)(new URL(url));

describe('the proxy of a request', () => {
  it.each<[string, Environment, string | undefined]>([
    ['http://a.example/', {}, undefined],
    ['http://a.example/', { NO_PROXY: 'b.example', HTTP_PROXY: '' }, undefined],
    ['http://a.example/', { HTTP_PROXY: PROXY }, PROXY],
    ['http://a.example/', { http_proxy: PROXY }, PROXY],
    ['http://a.example/', { HTTPS_PROXY: PROXY }, undefined],
    ['https://a.example/', { HTTPS_PROXY: PROXY }, PROXY],
    ['https://a.example/', { https_proxy: PROXY, HTTPS_PROXY: 'http://other' }, PROXY],
    ['https://a.example/', { HTTPS_PROXY: 'proxy.example:3128' }, PROXY],
    ['https://a.example/', { HTTPS_PROXY: 'https://us:pw@proxy.example' }, 'https://us:pw@proxy.example/'],
  ])('to %s with %j is %s', (url, env, proxy) => {
    expect(proxyOf(url, env)).toBe(proxy);
  });

  it.each(['socks5://us:pw@proxy.example', 'http://us:pw@', 'ftp://us:pw@proxy.example'])(
    'that is %s is refused, without its password, instead of passed over',
    (value) => {
      expect(() => proxiesOf({ HTTPS_PROXY: value })).toThrow(
        expect.objectContaining({ code: 'invalid_definition', message: expect.stringMatching(/^HTTPS_PROXY(?!.*pw)/) }),
      );
    },
  );
});

describe('NO_PROXY', () => {
  it.each<[string, string, 'exempts' | 'leaves']>([
    ['example.com', 'https://example.com/', 'exempts'],
    ['example.com', 'https://api.example.com/', 'leaves'],
    ['.example.com', 'https://api.example.com/', 'exempts'],
    ['.example.com', 'https://example.com/', 'exempts'],
    ['*.example.com', 'https://api.example.com/', 'exempts'],
    ['.example.com', 'https://notexample.com/', 'leaves'],
    ['other.com, API.example.com', 'https://api.EXAMPLE.com/', 'exempts'],
    ['other.com api.example.com', 'https://api.example.com/', 'exempts'],
    ['api.example.com:443', 'https://api.example.com:8443/', 'leaves'],
    ['api.example.com:443', 'https://api.example.com/', 'exempts'],
    ['my-host', 'https://my-host/', 'exempts'],
    ['*', 'https://example.com/', 'exempts'],
    ['', 'https://example.com/', 'leaves'],
    ['127.0.0.1', 'https://127.0.0.1:8000/', 'exempts'],
    ['127.0.0.1:8000', 'https://127.0.0.1:9000/', 'leaves'],
    ['10.0.0.0/8', 'https://10.20.30.40/', 'exempts'],
    ['10.0.0.0/8', 'https://11.20.30.40/', 'leaves'],
    ['10.0.0.0/', 'https://10.0.0.0/', 'leaves'],
    ['10.0.0.0/99', 'https://10.0.0.0/', 'leaves'],
    ['10.0.0.1-10.0.0.9', 'https://10.0.0.9/', 'exempts'],
    ['10.0.0.1-10.0.0.9', 'https://10.0.0.10/', 'leaves'],
    ['10.0.0.9-10.0.0.1', 'https://10.0.0.5/', 'leaves'],
    ['::1', 'https://[::1]/', 'exempts'],
    ['::1', 'https://[::1]:8443/', 'exempts'],
    ['[::1]', 'https://[::1]/', 'exempts'],
    ['[::1]:8443', 'https://[::1]:8443/', 'exempts'],
    ['[::1]:8443', 'https://[::1]/', 'leaves'],
    ['0:0:0:0:0:0:0:1', 'https://[::1]/', 'exempts'],
    ['fd00::/8', 'https://[fd12:3456::1]/', 'exempts'],
    ['fd00::/8', 'https://[fe80::1]/', 'leaves'],
    ['2001:db8::1', 'https://[2001:db8::2]/', 'leaves'],
    ['::1', 'https://127.0.0.1/', 'leaves'],
  ])('%j %3$s %2$s', (rules, url, what) => {
    expect(proxyOf(url, { HTTPS_PROXY: PROXY, NO_PROXY: rules })).toBe(what === 'leaves' ? PROXY : undefined);
  });

  it('may be in lower case, which wins', () => {
    const env = { HTTPS_PROXY: PROXY, NO_PROXY: '*', no_proxy: 'a.example' };
    expect([proxyOf('https://a.example', env), proxyOf('https://b.example', env)]).toEqual([undefined, PROXY]);
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

  it('that does not know them gets an error with what to do', () => {
    expect(proxyUnsupported('v22.19.0')).toMatchObject({ code: 'invalid_definition' });
    expect(proxyUnsupported('v22.19.0').message).toMatch(/v22\.19\.0.*24\.5.*NO_PROXY/s);
  });
});
