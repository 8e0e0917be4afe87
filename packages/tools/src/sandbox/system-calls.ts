import { arch, endianness } from 'node:os';

/** The numbers of the system calls that the filter looks at. */
interface Calls {
  /** The kernel's name for the processor's calls (`AUDIT_ARCH_…`). */
  readonly audit: number;
  /** Calls that set the mode of a file, each with the index of that argument. */
  readonly modes: Readonly<Record<number, number>>;
  /** Calls that use a mode only if their flags say that they make a file. */
  readonly opens: Readonly<Record<number, readonly [flags: number, mode: number]>>;
  /** Calls whose modes are in memory, where a filter can't read them: openat2, io_uring_setup. */
  readonly hidden: readonly number[];
  /** Calls on the kernel's keyrings, which no namespace divides: add_key, request_key, keyctl. */
  readonly keys: readonly number[];
  readonly socket: number;
}

const calls: Readonly<Record<string, Calls>> = {
  x64: {
    audit: 0xc000_003e,
    // creat, chmod, fchmod, mknod, mknodat, fchmodat, fchmodat2
    modes: { 85: 1, 90: 1, 91: 1, 133: 1, 259: 2, 268: 2, 452: 2 },
    // open, openat
    opens: { 2: [1, 2], 257: [2, 3] },
    hidden: [437, 425],
    keys: [248, 249, 250],
    socket: 41,
  },
  arm64: {
    audit: 0xc000_00b7,
    // mknodat, fchmod, fchmodat, fchmodat2
    modes: { 33: 2, 52: 1, 53: 2, 452: 2 },
    // openat
    opens: { 56: [2, 3] },
    hidden: [437, 425],
    keys: [217, 218, 219],
    socket: 198,
  },
};

/** The bits of a mode that make a program run with the rights of its owner or its group. */
const privilegeBits = 0o6000;
/** O_CREAT and O_TMPFILE. */
const makingFlags = 0x40_0040;
/** On x64, calls from this number on are a second spelling of all others. On arm64 there are none. */
const secondSpelling = 0x4000_0000;
const eperm = 1;
const enosys = 38;
const allowed = 0x7fff_0000;
const failsWith = (error: number): number => 0x0005_0000 | error;

/**
 * A seccomp program: no set-user-id or set-group-id bit is given to a file, no key of the user is read or made, and with
 * `sockets: false` no socket is made. Undefined on processors that it isn't written for.
 */
export function systemCallFilter({ sockets }: { readonly sockets: boolean }): Uint8Array | undefined {
  const known = endianness() === 'LE' ? calls[arch()] : undefined;
  if (known === undefined) return undefined;
  const refuseBits = (argument: number): Instruction[] => [
    load(wordOf(argument)),
    ...ifAnyBit(privilegeBits, [give(failsWith(eperm))]),
  ];
  const program: Instruction[] = [
    load(4),
    ...unlessEqual(known.audit, [give(failsWith(enosys))]),
    load(0),
    ...ifAtLeast(secondSpelling, [give(failsWith(enosys))]),
    ...known.hidden.flatMap((call) => ifEqual(call, [give(failsWith(enosys))])),
    ...known.keys.flatMap((call) => ifEqual(call, [give(failsWith(eperm))])),
    ...(sockets ? [] : ifEqual(known.socket, [give(failsWith(eperm))])),
    ...Object.entries(known.modes).flatMap(([call, mode]) =>
      ifEqual(Number(call), [...refuseBits(mode), give(allowed)]),
    ),
    ...Object.entries(known.opens).flatMap(([call, [flags, mode]]) =>
      ifEqual(Number(call), [load(wordOf(flags)), ...ifAnyBit(makingFlags, refuseBits(mode)), give(allowed)]),
    ),
    give(allowed),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, whenTrue, whenFalse, operand], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand, index * 8 + 4);
  });
  return bytes;
}

/** An instruction of the kernel's packet filter: its code, how many to skip when true and when false, its operand. */
type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, operand: number];

/** Loads a word of the call's description: its number is at 0, the processor at 4. */
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
/** Where the lower half of an argument is in the call's description. */
const wordOf = (argument: number): number => 16 + 8 * argument;
const give = (verdict: number): Instruction => [0x06, 0, 0, verdict];
const ifEqual = (value: number, body: Instruction[]): Instruction[] => [[0x15, 0, body.length, value], ...body];
const unlessEqual = (value: number, body: Instruction[]): Instruction[] => [[0x15, body.length, 0, value], ...body];
const ifAtLeast = (value: number, body: Instruction[]): Instruction[] => [[0x35, 0, body.length, value], ...body];
const ifAnyBit = (bits: number, body: Instruction[]): Instruction[] => [[0x45, 0, body.length, bits], ...body];
