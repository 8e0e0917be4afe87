import { TreadleError } from '@treadle/core';

/** Environment variables, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The address of the proxy that a request to `url` goes through; undefined when it goes directly. */
export type ProxyOf = (url: URL) => string | undefined;

/** True when `version` of Node has agents that know proxies: 24.5 and later, and the 22 line from 22.21. */
export function knowsProxies(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21);
}

/** The error for a proxy that this version of Node can't reach. */
export function proxyUnsupported(version: string): TreadleError {
  return new TreadleError(
    'invalid_definition',
    `HTTP_PROXY or HTTPS_PROXY is set, and Node ${version} can't use it for this request. Use Node 24.5 or later (or 22.21 ` +
      `or later of the 22 line), add the host to NO_PROXY, or pass an \`http\` of your own.`,
  );
}

/** Lowercase wins, as it does in other programs. */
const variable = (env: Environment, name: string): string => env[name] || env[name.toUpperCase()] || '';

/** @throws TreadleError `invalid_definition`: to go past a proxy that can't be used would be worse. */
function addressOf(name: string, value: string): string | undefined {
  if (value === '') return undefined;
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href;
  // Without the value: it may have a password.
  throw new TreadleError(
    'invalid_definition',
    `${name} is not the address of an HTTP proxy. Set it to http://host:port or https://host:port, or unset it.`,
  );
}

const portOf = ({ protocol, port }: URL): string => port || (protocol === 'https:' ? '443' : '80');

/** Whether an address is the one that a rule names, or in `10.0.0.0/8`, `fd00::/8` or `10.0.0.1-10.0.0.9`. */
function isInRange(rule: string, host: string): boolean {
  const { BlockList, isIP } = process.getBuiltinModule('node:net');
  const [first = '', last = first] = rule.split('-');
  const [address = '', prefix] = first.split('/');
  if (isIP(host) === 0 || isIP(host) !== isIP(address)) return false;
  const family = isIP(host) === 6 ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  try {
    if (prefix === undefined) list.addRange(address, last, family);
    else list.addSubnet(address, /^\d+$/.test(prefix) ? Number(prefix) : Number.NaN, family);
  } catch {
    // What is no range exempts nothing.
    return false;
  }
  return list.check(host, family);
}

/** Whether a rule of `NO_PROXY` names the host of an address. */
function isExempt(url: URL, rule: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // `[::1]:8080`, `[::1]`, `example.com:8080`, `example.com`; other colons are those of an IPv6 address.
  const match = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(rule);
  const name = match?.[1] ?? match?.[2] ?? rule;
  const port = match?.[3];
  if (port !== undefined && port !== portOf(url)) return false;
  const domain = name.replace(/^\*?\./, '');
  if (host === name || (domain !== name && (host === domain || host.endsWith(`.${domain}`)))) return true;
  return isInRange(name, host);
}

/** The proxies that `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` name, in upper or lower case. */
export function proxiesOf(env: Environment): ProxyOf {
  const http = addressOf('HTTP_PROXY', variable(env, 'http_proxy'));
  const https = addressOf('HTTPS_PROXY', variable(env, 'https_proxy'));
  const rules = variable(env, 'no_proxy')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  return (url) => {
    const proxy = url.protocol === 'https:' ? https : http;
    if (proxy === undefined || rules.some((rule) => rule === '*' || isExempt(url, rule))) return undefined;
    return proxy;
  };
}
