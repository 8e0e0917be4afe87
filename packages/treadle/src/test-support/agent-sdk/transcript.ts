// What both sides said, as lines for a golden file: with ids, times and folders that are the same every time.

import type { Json } from './client.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const IDS = /\b(?:[a-z]+_)?(?:call|msg|run|session)_[0-9a-f]{16,}(?:_[0-9a-z]+)?\b/g;

/** Figures that no two runs share. */
const FIGURES: ReadonlySet<string> = new Set([
  'duration_ms',
  'duration_api_ms',
  'durationMs',
  'elapsed_time_seconds',
  'timestamp',
  // As the machine has it.
  'sandboxed',
  'retry_delay_ms',
]);

export interface Transcript {
  readonly onLine: (direction: 'sent' | 'received', line: Json) => void;
  /** A line for each, the client's marked with `>`, in the order in which the client saw them; each request with its answer. */
  text(): string;
}

/** @param folders what stands for each folder of this machine, the longest first */
export function transcript(folders: Readonly<Record<string, string>>): Transcript {
  const lines: { readonly text: string; readonly answer: string | null }[] = [];
  /** Where each request is among the lines. */
  const requests = new Map<unknown, number>();
  const names = new Map<string, string>();
  const named = (kind: string, id: string): string => {
    const known =
      names.get(id) ?? `<${kind} ${[...names.values()].filter((name) => name.startsWith(`<${kind} `)).length + 1}>`;
    names.set(id, known);
    return known;
  };
  const text = (value: string): string => {
    let plain = value;
    for (const [folder, name] of Object.entries(folders)) plain = plain.replaceAll(folder, name);
    return plain.replaceAll(UUID, (id) => named('uuid', id)).replaceAll(IDS, (id) => named(id.replace(/_.*/s, ''), id));
  };
  const steady = (value: unknown, name = ''): unknown => {
    if (FIGURES.has(name) && value !== 0) return `<${name}>`;
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map((item) => steady(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), steady(item, key)]));
  };
  return {
    onLine(direction, line) {
      const shown = `${direction === 'sent' ? '>' : '<'} ${JSON.stringify(steady(line))}`;
      const { request_id: asked } = (line['response'] ?? {}) as Json;
      // Which of two requests is answered first may differ, and says nothing.
      const request = line['type'] === 'control_response' ? requests.get(asked) : undefined;
      if (request === undefined) lines.push({ text: shown, answer: null });
      else lines[request] = { text: lines[request]?.text ?? '', answer: shown };
      if (line['type'] === 'control_request') requests.set(line['request_id'], lines.length - 1);
    },
    text: () => `${lines.flatMap(({ text, answer }) => (answer === null ? [text] : [text, answer])).join('\n')}\n`,
  };
}
