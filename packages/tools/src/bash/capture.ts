/** Where the whole of a long output goes. */
export interface Spill {
  /** Relative to the root, as the model is told. */
  readonly path: string;
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

export interface CaptureOptions {
  /** Bytes kept in memory: half of them from the beginning of the output, half from its end. */
  readonly keepBytes: number;
  /** Bytes after which the output is cut off and `onLimit` is called. */
  readonly maxBytes: number;
  /** Called once, when the output outgrows `keepBytes`. */
  readonly openSpill: () => Promise<Spill>;
  readonly onLimit: () => void;
}

export interface Captured {
  readonly head: Buffer;
  readonly tail: Buffer;
  /** Bytes between head and tail. */
  readonly omitted: number;
  /** Bytes the program wrote, as far as they were read. */
  readonly bytes: number;
  /** The file with all of it up to `maxBytes`; absent when head and tail are all, or when it could not be written. */
  readonly spill?: { readonly path: string; readonly bytes: number };
  /** Why there is no spill file, or not a whole one. */
  readonly spillError?: unknown;
}

/** Keeps the beginning and the end of a stream of bytes in fixed memory and the whole of it in a file. */
export interface Capture {
  /** Await it: a full disk or a slow one holds the program back, not the memory. */
  push(bytes: Buffer): Promise<void>;
  /** The last `length` bytes so far. */
  recent(length: number): Buffer;
  finish(): Promise<Captured>;
}

export function capture(options: CaptureOptions): Capture {
  const headLimit = Math.ceil(options.keepBytes / 2);
  const tail = ring(options.keepBytes - headLimit);
  const headParts: Buffer[] = [];
  let headLength = 0;
  let bytes = 0;
  let spill: Spill | undefined;
  let spilled = 0;
  let spillError: unknown;
  let limitTold = false;

  const spillOut = async (part: Buffer): Promise<void> => {
    if (spill === undefined || spillError !== undefined) return;
    const allowed = part.subarray(0, Math.max(0, options.maxBytes - spilled));
    if (allowed.length === 0) return;
    try {
      await spill.write(allowed);
      spilled += allowed.length;
    } catch (error) {
      spillError = error;
    }
  };
  const startSpill = async (): Promise<void> => {
    try {
      spill = await options.openSpill();
    } catch (error) {
      spillError = error;
      return;
    }
    for (const part of [...headParts, tail.contents()]) await spillOut(part);
  };

  return {
    async push(chunk) {
      if (spill === undefined && spillError === undefined && bytes + chunk.length > options.keepBytes)
        await startSpill();
      await spillOut(chunk);
      bytes += chunk.length;
      const forHead = chunk.subarray(0, headLimit - headLength);
      if (forHead.length > 0) {
        // A copy: the slice would keep the whole chunk alive.
        headParts.push(Buffer.from(forHead));
        headLength += forHead.length;
      }
      tail.push(chunk.subarray(forHead.length));
      if (bytes > options.maxBytes && !limitTold) {
        limitTold = true;
        options.onLimit();
      }
    },
    recent: (length) => Buffer.concat([...headParts, tail.contents()]).subarray(-length),
    async finish() {
      await spill?.close().catch((error: unknown) => {
        spillError ??= error;
      });
      const head = Buffer.concat(headParts);
      const end = tail.contents();
      return {
        head,
        tail: end,
        omitted: bytes - head.length - end.length,
        bytes,
        ...(spill === undefined ? {} : { spill: { path: spill.path, bytes: spilled } }),
        ...(spillError === undefined ? {} : { spillError }),
      };
    },
  };
}

/** The last `size` bytes of what was pushed. Memory is taken when the first byte arrives. */
function ring(size: number): { push(bytes: Buffer): void; contents(): Buffer } {
  let buffer: Buffer | undefined;
  let next = 0;
  let filled = 0;
  return {
    push(bytes) {
      const part = bytes.subarray(Math.max(0, bytes.length - size));
      if (part.length === 0) return;
      buffer ??= Buffer.allocUnsafe(size);
      const first = Math.min(part.length, size - next);
      part.copy(buffer, next, 0, first);
      part.copy(buffer, 0, first);
      next = (next + part.length) % size;
      filled = Math.min(size, filled + part.length);
    },
    contents() {
      if (buffer === undefined) return Buffer.alloc(0);
      if (filled < size) return Buffer.from(buffer.subarray(0, filled));
      return Buffer.concat([buffer.subarray(next), buffer.subarray(0, next)]);
    },
  };
}
