import type { ApprovalAnswer, DurableEvent, JsonValue, PendingCall, PermissionUpdate } from '@treadle/core';

import { LOCAL_SETTINGS } from '../../settings/settings.ts';
import type { Asking } from './ask-user.ts';
import type { Style } from '../style.ts';
import { exactLine, exactText } from './plain-text.ts';

/** What is known of a question that a run waits on. */
export type ApprovalQuestion = Extract<DurableEvent, { type: 'approval_requested' }>;

/** What is shown beside a call. */
export interface Beside {
  readonly about: string | null;
  /** What the call would change in a file, whole. */
  readonly diff: string | null;
}

export interface TypedAnswer {
  readonly decision: 'approve' | 'reject';
  readonly said: ApprovalAnswer;
}

/**
 * Asks in the terminal whether a call may run. Null when the run is to end; Ctrl-D is a no.
 *
 * @param beside what else is to be known about it; null for nothing
 */
export async function askPermission(
  call: PendingCall,
  question: ApprovalQuestion | null,
  asking: Asking,
  beside: Beside,
): Promise<TypedAnswer | null> {
  const { terminal, out, stopped, isStopped, style } = asking;
  const suggestion = question?.suggestions?.find((update) => update.type === 'addRules') ?? null;
  out.endLine();
  const reason = question?.question ?? 'May it run?';
  const shown = [
    call.toolName,
    ...Object.entries(call.arguments).flatMap(entryTexts),
    beside.diff ?? '',
    reason,
    ...rulesOf(suggestion),
  ];
  out.print(
    `\n${callLines(call, beside.diff, style)}${exactLine(reason)}\n${beside.about === null ? '' : `${exactLine(beside.about)}\n`}${unseenLine(shown)}${choices(suggestion)}`,
  );
  for (;;) {
    const line = await terminal.ask(suggestion ? '[y/n/s/a] ' : '[y/n] ', stopped);
    if (line === null) return isStopped() ? null : no('Nobody is at the terminal any more.');
    const answer = readAnswer(line.trim(), suggestion);
    if (answer) return answer;
    out.print(choices(suggestion));
  }
}

/** The whole call, for who says yes says it to all of it. */
function callLines({ toolName, arguments: args }: PendingCall, diff: string | null, style: Style): string {
  const told = Object.entries(args).filter(([name]) => diff === null || !IN_DIFF.has(name));
  const entries = told.map((entry) => {
    const [name, value] = entryTexts(entry);
    const text = exactText(value);
    const shown = text.includes('\n') ? `\n${text.replaceAll(/^/gm, '    ')}` : ` ${text}`;
    return `  ${exactLine(name)}:${shown}\n`;
  });
  return `${exactLine(toolName)}\n${entries.join('')}${diff === null ? '' : diffLines(diff, style)}`;
}

/** Arguments of the file tools that a diff shows. */
const IN_DIFF: ReadonlySet<string> = new Set(['path', 'content', 'old_text', 'new_text']);

/** A unified diff, what goes in red and what comes in green. */
function diffLines(diff: string, style: Style): string {
  const lines = diff.split('\n').map((line, index) => {
    const text = exactText(line);
    if (index < 3) return style.dim(text);
    if (line.startsWith('-')) return style.bad(text);
    return line.startsWith('+') ? style.good(text) : text;
  });
  return lines.map((line) => `  ${line}\n`).join('');
}

const entryTexts = ([name, value]: readonly [string, JsonValue | undefined]): readonly [string, string] => [
  name,
  typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
];

/** Tells an escape from the same letters, which a call may have too. */
const unseenLine = (shown: readonly string[]): string =>
  shown.some((text) => exactText(text) !== text) ? 'Characters of it that do not show are written as \\u{…}.\n' : '';

const choices = (suggestion: PermissionUpdate | null): string =>
  [
    '  y  yes, this once',
    '  n  no; words after it are told to the model',
    ...(suggestion === null
      ? []
      : [
          `  s  always in this session: ${rulesText(suggestion)}`,
          `  a  always in this folder, kept in ${LOCAL_SETTINGS}: ${rulesText(suggestion)}`,
        ]),
    '',
  ].join('\n');

const rulesOf = (update: PermissionUpdate | null): readonly string[] =>
  update !== null && 'rules' in update ? update.rules : [];

const rulesText = (update: PermissionUpdate): string => rulesOf(update).map(exactLine).join(', ');

const no = (message: string): TypedAnswer => ({ decision: 'reject', said: { message } });

function readAnswer(line: string, suggestion: PermissionUpdate | null): TypedAnswer | null {
  const [word = '', ...rest] = line.split(/\s+/);
  const words = rest.join(' ');
  switch (word.toLowerCase()) {
    case 'y':
    case 'yes':
      return words === '' ? { decision: 'approve', said: {} } : null;
    case 'n':
    case 'no':
      return no(words === '' ? 'The user said no.' : `The user said no: ${words}`);
    case 's':
      return suggestion && { decision: 'approve', said: { updatedPermissions: [suggestion] } };
    case 'a':
      return (
        suggestion && {
          decision: 'approve',
          said: { updatedPermissions: [{ ...suggestion, destination: 'localSettings' }] },
        }
      );
    default:
      return null;
  }
}
