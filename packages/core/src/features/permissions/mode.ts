import type { PermissionMode } from '../../events/permission-updates.ts';

/** From the strictest to the loosest. */
export const PERMISSION_MODES: readonly PermissionMode[] = ['plan', 'dontAsk', 'default', 'acceptEdits', 'bypass'];

/** Whether one mode lets no more happen than another. */
export const isStricter = (mode: PermissionMode, than: PermissionMode): boolean =>
  PERMISSION_MODES.indexOf(mode) < PERMISSION_MODES.indexOf(than);
