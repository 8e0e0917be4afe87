/** How much runs without asking where no rule says. */
export type PermissionMode =
  /** What reads inside the working folder runs; what writes, executes or talks to others asks. */
  | 'default'
  /** Changes of files inside the working folder run too. */
  | 'acceptEdits'
  /** Only what changes nothing runs; all else is denied, whatever allows it. */
  | 'plan'
  /** As `default`, and what would ask is denied. */
  | 'dontAsk'
  /** Nothing asks but ask rules; deny rules hold. Only with `allowBypass`. */
  | 'bypass';

/** From the strictest to the loosest. */
export const PERMISSION_MODES: readonly PermissionMode[] = ['plan', 'dontAsk', 'default', 'acceptEdits', 'bypass'];

/** Whether one mode lets no more happen than another. */
export const isStricter = (mode: PermissionMode, than: PermissionMode): boolean =>
  PERMISSION_MODES.indexOf(mode) < PERMISSION_MODES.indexOf(than);
