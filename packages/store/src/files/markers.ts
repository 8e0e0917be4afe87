import type { Rest } from '@treadle/core/journal';
import { join } from 'node:path';
import { unless } from '../errors.ts';
import type { Layout } from './folder.ts';

/** When a session wants to be driven, kept in the file of its lease. */
export interface Wake extends Pick<Rest, 'status' | 'waitsFor'> {
  readonly sessionId: string;
  readonly agentId?: string | undefined;
  readonly dueAt: number | null;
}

/** The file that says so among those of all sessions: its name sorts by the time, and has all that is looked for. */
const markerAt = ({ wakes }: Layout, log: string, dueAt: number): string =>
  join(wakes, `${String(Math.max(0, Math.ceil(dueAt))).padStart(16, '0')}-${log}`);

type Due = Pick<Wake, 'dueAt'> | null | undefined;

/** Puts down the marker of a wake that is about to be written. Markers are a cache: they are not synced. */
export async function putMarker(layout: Layout, log: string, wake: Due): Promise<void> {
  if (wake?.dueAt != null) await layout.fs.writeFile(markerAt(layout, log, wake.dueAt), '', { mode: 0o600 });
}

/** Whether a session that wasn't due then, or later, is due. */
export const comesEarlier = (before: Due, now: Due): boolean =>
  now?.dueAt != null && (before?.dueAt == null || now.dueAt < before.dueAt);

/** Takes away the marker of a wake that is no more. */
export async function takeMarker(layout: Layout, log: string, before: Due, now: Due): Promise<void> {
  if (before?.dueAt == null || before.dueAt === now?.dueAt) return;
  await unless(layout.fs.unlink(markerAt(layout, log, before.dueAt)), 'ENOENT');
}
