import type { Usage } from '../model/model.ts';

/** Where a title is from, when nobody gave it. It never replaces one that is there. */
export interface TitleOrigin {
  /** Absent: somebody gave it. `fallback`: the model's could not be had, and this is made of the first prompt. */
  readonly by?: 'model' | 'fallback';
  readonly provider?: string;
  readonly model?: string;
  /** What asking the model took. */
  readonly usage?: Usage;
  readonly cost?: number | null;
  /** With `fallback`: why there is none of a model's. */
  readonly problem?: string;
}

/** The session that one of inactivity follows. Times in milliseconds. */
export interface PreviousSession {
  readonly sessionId: string;
  readonly lastActiveAt: number;
  readonly thresholdMs: number;
}
