import { BlockList, isIP, isIPv4 } from 'node:net';

/** An IP address in a plain spelling, without brackets and without a zone. */
export interface Address {
  readonly family: 'ipv4' | 'ipv6';
  readonly text: string;
}

/** Addresses that begin with the same bits. */
export interface AddressRange {
  readonly family: Address['family'];
  readonly members: BlockList;
}

/**
 * Reads an address in its plain form: four decimal numbers, or the hexadecimal groups of version 6, also in brackets and
 * with a zone. Null for anything else: other spellings are for a URL parser to read before.
 */
export function parseAddress(given: string): Address | null {
  const bare = given.startsWith('[') && given.endsWith(']') ? given.slice(1, -1) : given;
  if (isIP(bare) === 0) return null;
  const [text = ''] = bare.split('%');
  return { family: isIPv4(text) ? 'ipv4' : 'ipv6', text };
}

/** Reads `10.0.0.0/8`, `fd00::/8`, or one address. Null for anything else. */
export function parseRange(given: string): AddressRange | null {
  const [base = '', length, ...rest] = given.split('/');
  const address = parseAddress(base);
  if (address === null || rest.length > 0) return null;
  const { family, text } = address;
  const all = family === 'ipv4' ? 32 : 128;
  const bits = Number(length ?? all);
  if ((length !== undefined && !/^\d{1,3}$/.test(length)) || bits > all) return null;
  const members = new BlockList();
  members.addSubnet(text, bits, family);
  return { family, members };
}

/** Whether an address is in a range. An IPv4 address is in no range of IPv6, whatever it is mapped to. */
export const inRange = ({ family, text }: Address, range: AddressRange): boolean =>
  family === range.family && range.members.check(text, family);
