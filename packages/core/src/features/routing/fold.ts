import type { Fold } from '../../kernel/fold.ts';

/** Notes the newest failure, where somebody chooses models. */
export const routingFold: Fold = {
  after({ run, decisions }, event) {
    if (event.type !== 'attempt_failed' || !run?.turn) return;
    const { index: turnIndex, modelIndex } = run.turn;
    if (decisions.has(routingKey(turnIndex))) run.lastFailure = { turnIndex, modelIndex, kind: event.error.kind };
  },
};

/** The key of the decision about a turn's model. */
export const routingKey = (turnIndex: number): string => `routing:${turnIndex}`;
