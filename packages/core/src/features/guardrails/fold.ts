import { isJsonObject } from '../../json.ts';
import type { Fold } from '../../kernel/fold.ts';

/** Counts answers that a check refused. */
export const guardrailsFold: Fold = {
  after({ run }, event) {
    if (run === null || event.type !== 'decision_made' || event.kind !== 'check') return;
    const { key, decision } = event;
    if (key.startsWith('check:') && isJsonObject(decision) && decision['ok'] !== true) run.checksFailed += 1;
  },
};
