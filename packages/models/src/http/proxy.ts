import { TreadleError } from '@treadle/core';

/** Environment variables, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

const NAMES = ['http_proxy', 'https_proxy', 'no_proxy'] as const;

/** The proxy variables of an environment, for Node's `proxyEnv`; undefined when none names a proxy. */
export function proxyEnvironment(env: Environment): Record<string, string> | undefined {
  const found: Record<string, string> = {};
  for (const name of NAMES) {
    // Lowercase wins, as it does in other programs.
    const value = env[name] ?? env[name.toUpperCase()];
    if (value !== undefined && value !== '') found[name.toUpperCase()] = value;
  }
  return found['HTTP_PROXY'] === undefined && found['HTTPS_PROXY'] === undefined ? undefined : found;
}

/** True when `version` of Node has agents that know proxies: 24.5 and later, and the 22 line from 22.21. */
export function knowsProxies(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21);
}

const exempt = (host: string, port: string, rule: string): boolean => {
  const [name = '', rulePort] = rule.split(':');
  if (rulePort !== undefined && rulePort !== port) return false;
  const domain = name.replace(/^\*?\./, '');
  return host === name || (domain !== name && (host === domain || host.endsWith(`.${domain}`)));
};

/** Whether a request to `url` would go through a proxy of `proxies`. */
export function wantsProxy(url: URL, proxies: Record<string, string> | undefined): boolean {
  const named = proxies?.[url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'];
  if (named === undefined) return false;
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  const rules = (proxies?.['NO_PROXY'] ?? '').toLowerCase().split(/[\s,]+/);
  return !rules.some((rule) => rule === '*' || (rule !== '' && exempt(url.hostname.toLowerCase(), port, rule)));
}

/** What to tell somebody whose Node can't reach a proxy that the environment demands. */
export function proxyUnsupported(version: string): TreadleError {
  return new TreadleError(
    'invalid_definition',
    `HTTP_PROXY or HTTPS_PROXY is set, and Node ${version} can't use it for this request. Use Node 24.5 or later (or 22.21 ` +
      `or later of the 22 line), add the host to NO_PROXY, or pass an \`http\` of your own.`,
  );
}
