// Whole sessions: lists, forks, reruns, replay, search, families.
export type { ReplayDifference } from '../history/recorded.ts';
export * from '../history/replay.ts';
export * from '../history/rerun-input.ts';
export * from '../history/rerun.ts';
export type { SearchOptions, SessionHit } from '../history/search.ts';
export type { ForkOptions, LatestOptions, Sessions } from '../history/sessions.ts';
export * from '../history/tree.ts';
