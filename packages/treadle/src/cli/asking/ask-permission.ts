import type { ApprovalAnswer, DurableEvent, JsonValue, PendingCall, PermissionUpdate } from '@treadle/core';

import { LOCAL_SETTINGS } from '../../settings/settings.ts';
import type { Asking } from './ask-user.ts';
import { exactLine, exactText } from './plain-text.ts';

/** What is known of a question that a run waits on. */
export type ApprovalQuestion = Extract<DurableEvent, { type: 'approval_requested' }>;

export interface TypedAnswer {
  readonly decision: 'approve' | 'reject';
  readonly said: ApprovalAnswer;
}

/**
 * Asks in the terminal whether a call may run. Null when the run is to end; Ctrl-D is a no.
 *
 * @param about what else is to be known about it; null for nothing
 */
export async function askPermission(
  call: PendingCall,
  question: ApprovalQuestion | null,
  asking: Asking,
  about: string | null,
): Promise<TypedAnswer | null> {
  const { terminal, out, stopped, isStopped } = asking;
  const suggestion = question?.suggestions?.find((update) => update.type === 'addRules') ?? null;
  out.endLine();
  const reason = question?.question ?? 'May it run?';
  const shown = [call.toolName, ...Object.entries(call.arguments).flatMap(entryTexts), reason, ...rulesOf(suggestion)];
  out.print(
    `\n${callLines(call)}${exactLine(reason)}\n${about === null ? '' : `${exactLine(about)}\n`}${unseenLine(shown)}${choices(suggestion)}`,
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
function callLines({ toolName, arguments: args }: PendingCall): string {
  const entries = Object.entries(args).map((entry) => {
    const [name, value] = entryTexts(entry);
    const text = exactText(value);
    const shown = text.includes('\n') ? `\n${text.replaceAll(/^/gm, '    ')}` : ` ${text}`;
    return `  ${exactLine(name)}:${shown}\n`;
  });
  return `${exactLine(toolName)}\n${entries.join('')}`;
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
