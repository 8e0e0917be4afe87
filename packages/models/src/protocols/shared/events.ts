import { UNKNOWN_USAGE, type ModelEvent } from '@treadle/core/model';
import type { JsonObject, StopReason, Usage } from '@treadle/core';
import { defined } from '@treadle/core/json';
import { asObject, asText } from './json-text.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Why a response ended that came to its end. */
export type Stop = Exclude<StopReason, 'error' | 'aborted'>;

type EventOf<Type extends ModelEvent['type']> = Extract<ModelEvent, { readonly type: Type }>;

/** The beginning of a response. What isn't a text is left out. */
export const startEvent = (
  facts: Partial<Record<'model' | 'responseId' | 'containerId', unknown>>,
): EventOf<'start'> => {
  const { model, responseId, containerId } = facts;
  const texts = { model: asText(model), responseId: asText(responseId), containerId: asText(containerId) };
  return { type: 'start', ...defined(texts) };
};

/** The end of a response. `usage` is in the provider's own words. */
export const finishEvent = (
  stopReason: Stop,
  facts: { readonly rawStopReason: string | undefined; readonly containerId?: string | undefined },
  usage: Fields | undefined,
  readUsage: (raw: Fields) => Usage,
): EventOf<'finish'> => ({
  type: 'finish',
  stopReason,
  ...defined(facts),
  usage: usage === undefined ? UNKNOWN_USAGE : readUsage(usage),
  ...defined({ rawUsage: usage as JsonObject | undefined }),
});

/** Counts with those of another report: a null says nothing about a count that is known. */
export function withCounts(usage: Fields | undefined, report: unknown): Fields | undefined {
  const fields = asObject(report);
  if (fields === undefined) return usage;
  const counts: Record<string, unknown> = { ...usage };
  for (const key of Object.keys(fields)) counts[key] = fields[key] ?? counts[key] ?? null;
  return counts;
}
