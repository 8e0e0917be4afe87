import type { JsonObject } from '../json.ts';

/** The tools that end a run in words of the model's own. Their names are theirs alone. */
export type StopToolName = 'task_completion' | 'ask_question' | 'converse';

const NAMES: ReadonlySet<string> = new Set<StopToolName>(['task_completion', 'ask_question', 'converse']);

/** True for the names of the built-in stop tools, which no other tool may have. */
export const isStopToolName = (name: string): boolean => NAMES.has(name);

/** What a call of a built-in stop tool says to the user; null for other tools. */
export function stopToolText(name: string, args: JsonObject): string | null {
  const said = (key: string): string => (typeof args[key] === 'string' ? args[key] : '');
  if (name === 'task_completion') return said('result');
  if (name === 'converse') return said('message');
  if (name !== 'ask_question') return null;
  const { suggestions } = args;
  const lines = Array.isArray(suggestions) ? suggestions.map((suggestion) => `\n- ${String(suggestion)}`) : [];
  return said('question') + lines.join('');
}

/** The tool by which a model gives its value. The name is reserved. */
export const OUTPUT_TOOL = 'structured_output';
