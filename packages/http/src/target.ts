import { lookup } from 'node:dns/promises';
import { TreadleError } from '@treadle/core';

import { inRange, parseAddress, parseRange, type AddressRange } from './address.ts';
import { HttpProblem, shownUrl } from './problem.ts';
import { specialUse } from './public-address.ts';

/** Looks a name up: its addresses, best first. Rejects, or resolves to none, when there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** What is let through although its address is not public. */
export interface Allowed {
  readonly ranges: readonly AddressRange[];
  /** Names in lower case; `*.example.com` for the names below it. */
  readonly names: readonly string[];
}

/** Asks the system, as every other program of the machine does: also its hosts file. */
export const systemResolve: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);

/** @throws TreadleError `invalid_definition` for an entry that is no host, address or range. */
export function readAllowed(entries: readonly string[]): Allowed {
  const ranges: AddressRange[] = [];
  const names: string[] = [];
  for (const entry of entries) {
    const range = parseRange(entry);
    const name = entry.toLowerCase().replace(/\.$/, '');
    if (range !== null) ranges.push(range);
    else if (/^(?:\*\.)?[a-z0-9_.-]+$/.test(name) && /[a-z]/.test(name)) names.push(name);
    else {
      throw new TreadleError(
        'invalid_definition',
        `allow: ${JSON.stringify(entry)} is no host, address or range. Write intranet.example, *.intranet.example, ` +
          '127.0.0.1 or 10.0.0.0/8: no scheme, no port, no path.',
      );
    }
  }
  return { ranges, names };
}

/** @throws HttpProblem `bad_url` or `bad_scheme`. */
export function readUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null)
    throw new HttpProblem('bad_url', 'That is no absolute URL. Write one such as https://example.com/.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new HttpProblem('bad_scheme', `Only http: and https: are asked, and not ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new HttpProblem('bad_url', 'A URL must not hold a user name or a password.');
  }
  return url;
}

/** The name of a URL's host, without the dot that may end it and without brackets. */
export function hostnameOf({ hostname }: URL): string {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return bare.replace(/\.$/, '');
}

/**
 * The addresses that a URL may be asked at. A name is looked up here, once, and every answer has to be allowed: one that
 * answers with a public and a private address is refused.
 *
 * @throws HttpProblem `address_refused`, `name_not_found` or `bad_url`.
 */
export async function addressesOf(url: URL, allowed: Allowed, resolve: Resolve): Promise<readonly string[]> {
  const hostname = hostnameOf(url);
  if (hostname === '') throw new HttpProblem('bad_url', 'The URL names no host.');
  const literal = parseAddress(hostname) !== null;
  const addresses = literal ? [hostname] : await lookUp(hostname, url, resolve);
  if (!literal && isAllowedName(hostname, allowed)) return addresses;
  for (const text of addresses) {
    const address = parseAddress(text);
    if (address !== null && allowed.ranges.some((range) => inRange(address, range))) continue;
    const problem = address === null ? 'no address that can be read' : specialUse(address);
    if (problem === null) continue;
    const where = literal ? `Its address is ${problem}` : `${hostname} leads to an address that is ${problem}`;
    throw new HttpProblem(
      'address_refused',
      `${shownUrl(url)} was not asked. ${where}; only public addresses are, and those that were allowed.`,
    );
  }
  return addresses;
}

async function lookUp(hostname: string, url: URL, resolve: Resolve): Promise<readonly string[]> {
  let addresses: readonly string[];
  try {
    addresses = await resolve(hostname);
  } catch (error) {
    throw new HttpProblem('name_not_found', `${shownUrl(url)}: nobody knows an address of ${hostname}.`, error);
  }
  if (addresses.length > 0) return addresses;
  throw new HttpProblem('name_not_found', `${shownUrl(url)}: ${hostname} has no address.`);
}

const isAllowedName = (hostname: string, { names }: Allowed): boolean =>
  names.some((name) => (name.startsWith('*.') ? hostname.endsWith(name.slice(1)) : hostname === name));
