import type { JsonObject, JsonValue, ToolResultContent } from '@treadle/core';

import { isJsonObject, parseJson } from '@treadle/core/json';

import { counted, duration } from './figures.ts';
import { outcomeOf, type Outcome } from './outcome.ts';
import { plainLine } from '../asking/plain-text.ts';
import type { Style } from '../style.ts';

/** How a call ended. */
export interface CallEnd {
  readonly toolName: string;
  readonly isError: boolean;
  /** It was not run, because somebody said no. */
  readonly isRefused?: boolean;
  /** It goes on in the background: what came back only says so. */
  readonly isTask?: boolean;
  readonly content: readonly ToolResultContent[];
  readonly details?: JsonValue;
  /** Absent for a call that was never started. */
  readonly durationMs?: number;
}

/** A call that is over, as one line tells of it. */
export interface FinishedCall extends CallEnd {
  readonly label: string;
  readonly arguments: JsonObject;
}

/** `• Read a file · src/a.ts · 12 lines · 3 ms` */
export const toolLine = (call: FinishedCall, style: Style): string =>
  toolHead(call.label, call.arguments, style) + toolEnd(call, style);

/** The part of a line that is known when its call starts: `• Read a file · src/a.ts` */
export function toolHead(label: string, args: JsonObject, style: Style): string {
  const shortArguments = argumentsText(args);
  return style.dim(`• ${plainLine(label, 60)}${shortArguments === '' ? '' : ` · ${shortArguments}`}`);
}

/** The rest of it: ` · 12 lines · 3 ms` */
export function toolEnd(call: CallEnd, style: Style): string {
  const { words, isBad } = outcomeText(call);
  const took = call.durationMs === undefined ? '' : style.dim(` · ${duration(call.durationMs)}`);
  return style.dim(' · ') + (isBad ? style.bad(words) : style.dim(words)) + took;
}

/** Arguments that say by themselves what they are, the most telling first. */
const MAIN = ['command', 'path', 'pattern', 'query', 'url'];

/** Arguments of a change, which its diff shows. */
const IN_DIFF: ReadonlySet<string> = new Set(['content', 'old_text', 'new_text']);

/** What a call is about, on one line. */
export function argumentsText(args: JsonObject): string {
  const main = MAIN.find((name) => typeof args[name] === 'string');
  const said = main === undefined ? undefined : args[main];
  const others = Object.entries(args).flatMap(([name, value]) => {
    const text = name === main || (main === 'path' && IN_DIFF.has(name)) ? null : shortValue(value);
    return text === null ? [] : [`${name}=${text}`];
  });
  const { questions } = args;
  const [asked] = Array.isArray(questions) ? (questions as readonly JsonValue[]) : [];
  const question = asked !== undefined && isJsonObject(asked) ? asked['question'] : undefined;
  const { subagent_type: agent, prompt, description = prompt } = args;
  if (typeof agent === 'string' && typeof description === 'string') return plainLine(`${agent}: ${description}`, 80);
  const first = [said, question].filter((text) => typeof text === 'string');
  return plainLine([...first, ...others].join(' '), 80);
}

/** A value that is telling at a glance, or null. */
function shortValue(value: JsonValue | undefined): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value.length <= 30 && !value.includes('\n') ? value : null;
}

function outcomeText(call: CallEnd): Outcome {
  if (call.isRefused === true) return { words: 'refused', isBad: true };
  if (call.isTask === true) return { words: 'in the background', isBad: false };
  const told = call.isError ? null : (outcomeOf(call.toolName, call.details) ?? answersOf(call));
  if (told !== null) return told;
  return { words: `${call.isError ? 'error' : 'ok'}${contentText(call.content)}`, isBad: call.isError };
}

/** What the user has answered; null for a result that tells of no answers. */
function answersOf({ toolName, content }: CallEnd): Outcome | null {
  const [block] = content;
  if (toolName !== 'ask_user' || block?.type !== 'text') return null;
  try {
    const { answers } = parseJson(block.text) as { answers: readonly { selected: string[]; other?: string }[] };
    const words = answers.map(({ selected, other }) =>
      [...selected, ...(other === undefined ? [] : [other])].join(', '),
    );
    return { words: plainLine(words.join(' · '), 200), isBad: false };
  } catch {
    return null;
  }
}

/** The first line of what came back, and how much more there is. */
function contentText(content: readonly ToolResultContent[]): string {
  const text = content
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n')
    .trim();
  const others = content.filter(({ type }) => type !== 'text').length;
  const firstLine = text === '' ? '' : `: ${plainLine(firstLineOf(text), 100)}`;
  const lines = lineCount(text) - 1;
  const more = [
    ...(lines > 0 ? [`+${counted(lines, 'line')}`] : []),
    ...(others > 0 ? [`+${counted(others, 'attachment')}`] : []),
  ];
  return `${firstLine}${more.length === 0 ? '' : ` (${more.join(', ')})`}`;
}

function firstLineOf(text: string): string {
  const end = text.indexOf('\n');
  return end === -1 ? text : text.slice(0, end);
}

function lineCount(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
