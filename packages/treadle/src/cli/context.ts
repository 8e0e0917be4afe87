import type { Interruptions } from './interruptions.ts';
import type { CliIo, Printer } from './io.ts';
import type { CliParts } from './parts.ts';

/** What a command works with. */
export interface CommandContext {
  readonly io: CliIo;
  readonly parts: CliParts;
  readonly out: Printer;
  /** Standard error. */
  readonly err: Printer;
  /** A line on standard error, for the user and not for a program. */
  readonly note: (text: string) => void;
  readonly interruptions: Interruptions;
}
