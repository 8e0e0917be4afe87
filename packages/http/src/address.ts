/** An IP address as a number: 32 bits for version 4, 128 for version 6. */
export interface Address {
  readonly version: 4 | 6;
  readonly value: bigint;
}

/** Addresses that begin with the same bits. */
export interface AddressRange {
  readonly version: 4 | 6;
  readonly value: bigint;
  /** How many bits, from the front, are the range's. */
  readonly bits: number;
}

/**
 * Reads an address in its plain form: four decimal numbers, or the hexadecimal groups of version 6, also in brackets and
 * with a zone. Null for anything else: other spellings are for a URL parser to read before.
 */
export function parseAddress(text: string): Address | null {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const version4 = parseVersion4(bare);
  if (version4 !== null) return { version: 4, value: version4 };
  const [withoutZone = ''] = bare.split('%');
  const version6 = parseVersion6(withoutZone);
  return version6 === null ? null : { version: 6, value: version6 };
}

/** Reads `10.0.0.0/8`, `fd00::/8`, or one address. Null for anything else. */
export function parseRange(text: string): AddressRange | null {
  const [base = '', length, ...rest] = text.split('/');
  const address = parseAddress(base);
  if (address === null || rest.length > 0) return null;
  const all = address.version === 4 ? 32 : 128;
  if (length === undefined) return { ...address, bits: all };
  if (!/^\d{1,3}$/.test(length) || Number(length) > all) return null;
  return { ...address, bits: Number(length) };
}

/** Whether an address is in a range. An IPv4 address is in no range of IPv6, whatever it is mapped to. */
export function inRange({ version, value }: Address, range: AddressRange): boolean {
  if (version !== range.version) return false;
  const shift = BigInt((version === 4 ? 32 : 128) - range.bits);
  return value >> shift === range.value >> shift;
}

function parseVersion4(text: string): bigint | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (match === null) return null;
  let value = 0n;
  for (const part of match.slice(1)) {
    // A leading zero means octal to some and decimal to others: it is no plain form.
    if (Number(part) > 255 || (part.length > 1 && part.startsWith('0'))) return null;
    value = value * 256n + BigInt(part);
  }
  return value;
}

function parseVersion6(text: string): bigint | null {
  const halves = text.split('::');
  if (halves.length > 2 || !text.includes(':')) return null;
  const [front, back] = halves.map(groupsOf);
  if (front === null || front === undefined || back === null) return null;
  const given = front.length + (back?.length ?? 0);
  if (back === undefined ? given !== 8 : given > 7) return null;
  const groups = [...front, ...Array.from({ length: 8 - given }, () => 0n), ...(back ?? [])];
  return groups.reduce((value, group) => value * 65_536n + group, 0n);
}

/** The groups of one side of `::`; the last may be an IPv4 address, which is two. */
function groupsOf(side: string): bigint[] | null {
  if (side === '') return [];
  const groups: bigint[] = [];
  const parts = side.split(':');
  for (const [index, part] of parts.entries()) {
    const version4 = index === parts.length - 1 ? parseVersion4(part) : null;
    if (version4 !== null) groups.push(version4 >> 16n, version4 & 0xffffn);
    else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(BigInt(`0x${part}`));
    else return null;
  }
  return groups;
}
