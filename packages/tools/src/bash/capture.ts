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
  /** Bytes after which the output is cut off. */
  readonly maxBytes: number;
  /** Called once, when the output outgrows `keepBytes`. */
  readonly openSpill: () => Promise<Spill>;
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
  /** Await it: a full disk or a slow one holds the program back, not the memory. False once there is more than `maxBytes`. */
  push(bytes: Buffer): Promise<boolean>;
  /** The last `length` bytes so far. */
  recent(length: number): Buffer;
  finish(): Promise<Captured>;
}

export function capture(options: CaptureOptions): Capture {
  const headLimit = Math.ceil(options.keepBytes / 2);
  const tailLimit = options.keepBytes - headLimit;
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let bytes = 0;
  let spill: Spill | undefined;
  let spilled = 0;
  let spillError: unknown;

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
    for (const part of [head, tail]) await spillOut(part);
  };

  return {
    async push(chunk) {
      if (spill === undefined && spillError === undefined && bytes + chunk.length > options.keepBytes)
        await startSpill();
      await spillOut(chunk);
      bytes += chunk.length;
      const forHead = chunk.subarray(0, headLimit - head.length);
      if (forHead.length > 0) head = Buffer.concat([head, forHead]);
      const end = Buffer.concat([tail, chunk.subarray(forHead.length)]);
      tail = end.subarray(Math.max(0, end.length - tailLimit));
      return bytes <= options.maxBytes;
    },
    recent: (length) => Buffer.concat([head, tail]).subarray(-length),
    async finish() {
      await spill?.close().catch((error: unknown) => {
        spillError ??= error;
      });
      return {
        head,
        tail,
        omitted: bytes - head.length - tail.length,
        bytes,
        ...(spill === undefined ? {} : { spill: { path: spill.path, bytes: spilled } }),
        ...(spillError === undefined ? {} : { spillError }),
      };
    },
  };
}
