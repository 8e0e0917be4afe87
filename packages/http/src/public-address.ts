import { inRange, parseAddress, parseRange, type Address, type AddressRange } from './address.ts';

/** Ranges that are not the public Internet's, with what they are. The first that fits names an address. */
const SPECIAL: readonly (readonly [string, string])[] = [
  ['0.0.0.0/8', 'unspecified'],
  ['127.0.0.0/8', 'loopback'],
  ['10.0.0.0/8', 'private'],
  ['172.16.0.0/12', 'private'],
  ['192.168.0.0/16', 'private'],
  ['100.64.0.0/10', 'shared by a carrier'],
  ['169.254.0.0/16', 'link-local, where clouds keep their metadata'],
  // In the middle of public addresses, and only reachable from inside of a cloud.
  ['168.63.129.16', "a cloud's own"],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'for documentation'],
  ['192.88.99.0/24', 'a relay from IPv6'],
  ['198.18.0.0/15', 'for benchmarks'],
  ['198.51.100.0/24', 'for documentation'],
  ['203.0.113.0/24', 'for documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::ffff:0:0/96', 'an IPv4 address inside IPv6'],
  ['::/96', 'an IPv4 address inside IPv6'],
  ['64:ff9b::/96', 'an IPv4 address behind NAT64'],
  ['64:ff9b:1::/48', 'an IPv4 address behind NAT64'],
  ['2002::/16', 'an IPv4 address inside 6to4'],
  ['2001::/32', 'an IPv4 address inside Teredo'],
  ['2001::/23', 'reserved'],
  ['2001:db8::/32', 'for documentation'],
  ['3fff::/20', 'for documentation'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'private'],
  ['ff00::/8', 'multicast'],
];

/** All of IPv6 that is given out to the public. What is outside of it is nobody's, or special. */
const GLOBAL_UNICAST = range('2000::/3');

const RANGES = SPECIAL.map(([text, what]) => ({ range: range(text), what }));

function range(text: string): AddressRange {
  const parsed = parseRange(text);
  if (parsed === null) throw new Error(`${text} is no range of addresses`);
  return parsed;
}

/** Why an address is not public, in words such as `loopback`; null when it is. */
export function specialUse(address: Address): string | null {
  const found = RANGES.find(({ range }) => inRange(address, range));
  if (found) return found.what;
  return address.family === 'ipv6' && !inRange(address, GLOBAL_UNICAST) ? 'reserved' : null;
}

/**
 * Why the address in a text is not public; null when it is. What is no plain address is not public either: what can't be
 * read can't be judged.
 *
 * @example
 * ```ts
 * import { addressProblem } from '@treadle/http';
 *
 * console.log(addressProblem('127.0.0.1')); // loopback
 * console.log(addressProblem('::ffff:10.0.0.1')); // an IPv4 address inside IPv6
 * console.log(addressProblem('1.1.1.1')); // null
 * ```
 */
export function addressProblem(text: string): string | null {
  const address = parseAddress(text);
  return address === null ? 'no address that can be read' : specialUse(address);
}
