import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { inRange, parseAddress, parseRange } from './address.ts';
import { addressProblem } from './public-address.ts';

describe('an address', () => {
  it.each([
    ['1.2.3.4', 'ipv4', '1.2.3.4'],
    ['::', 'ipv6', '::'],
    ['::1', 'ipv6', '::1'],
    ['[::1]', 'ipv6', '::1'],
    ['fe80::1%eth0', 'ipv6', 'fe80::1'],
    ['::ffff:1.2.3.4', 'ipv6', '::ffff:1.2.3.4'],
    ['1:2:3:4:5:6:7:8', 'ipv6', '1:2:3:4:5:6:7:8'],
    ['1:2:3:4:5:6:7::', 'ipv6', '1:2:3:4:5:6:7::'],
  ])('is read from %s', (given, family, text) => {
    expect(parseAddress(given)).toEqual({ family, text });
  });

  it.each([
    '',
    '1.2.3',
    '01.2.3.4',
    '256.1.1.1',
    '1.2.3.4.',
    '0x7f.1',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '12345::',
    'g::',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '::1.2.3',
    'example.com',
  ])('is not read from %j', (text) => {
    expect(parseAddress(text)).toBeNull();
  });

  it('is in a range when it begins with its bits, and in none of the other version', () => {
    const range = parseRange('10.0.0.0/8');
    const inside = parseAddress('10.255.0.1');
    const outside = parseAddress('11.0.0.0');
    const mapped = parseAddress('::ffff:10.0.0.1');
    const all = [inside, outside, mapped].map((address) => address && range && inRange(address, range));
    expect(all).toEqual([true, false, false]);
    expect(parseRange('10.0.0.0/33')).toBeNull();
    expect(parseRange('10.0.0.0/8/8')).toBeNull();
  });
});

describe('what is not public', () => {
  it.each([
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '168.63.129.16',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.192',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b:1::10.0.0.1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%1',
    'fec0::1',
    'ff02::1',
    '100::1',
    '4000::1',
    'example.com',
    '',
  ])('is %s', (text) => {
    expect(addressProblem(text)).not.toBeNull();
  });

  it.each(['1.1.1.1', '8.8.8.8', '100.128.0.1', '172.32.0.1', '169.253.0.1', '2606:4700::1111', '2a00:1450::1'])(
    'is not %s',
    (text) => {
      expect(addressProblem(text)).toBeNull();
    },
  );

  it('is every private IPv4 address however it is put into IPv6', () => {
    const inside = fc.constantFrom('::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::', 'fe80::', 'fd00::');
    fc.assert(
      fc.property(inside, fc.ipV4(), (prefix, version4) => {
        expect(addressProblem(`${prefix}${version4}`)).not.toBeNull();
      }),
      { numRuns: 200 },
    );
  });
});
