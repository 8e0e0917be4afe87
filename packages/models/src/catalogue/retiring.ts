import { lookUp } from './catalogue.ts';

/** A model that its maker shuts down. */
export interface Retirement {
  /** As it was asked for, such as `anthropic/claude-sonnet-4-5`. */
  readonly name: string;
  readonly retires: string;
}

const DAY = 86_400_000;

/**
 * Those of these models that are shut down within some days of a date, or were before it.
 *
 * @param names Such as `openai/gpt-5`.
 * @param date Such as `2026-11-22`.
 * @example
 * ```ts
 * import { retiring } from '@treadle/models/catalogue';
 *
 * console.log(retiring(['openai/gpt-5', 'openai/gpt-6-luna'], '2026-11-22', 60)); // [{ name: 'openai/gpt-5', retires: '2026-12-11' }]
 * ```
 */
export function retiring(names: Iterable<string>, date: string, days: number): readonly Retirement[] {
  const last = new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10);
  return [...names].flatMap((name) => {
    const slash = name.indexOf('/');
    const retires = lookUp(name.slice(0, slash), name.slice(slash + 1))?.retires;
    return retires !== undefined && retires <= last ? [{ name, retires }] : [];
  });
}
