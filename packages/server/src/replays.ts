import type { ReplayReport } from '@treadle/core/history';

/** Replays that are under way or were asked for lately, by their keys. They live as long as this process, as their keys do. */
export type Replays = Map<string, { readonly asked: string; readonly report: Promise<ReplayReport> }>;
