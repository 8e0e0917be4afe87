import type { ApprovalAnswer, DurableEvent, PendingCall, PermissionUpdate } from '@treadle/core';

import { LOCAL_SETTINGS } from '../settings/settings.ts';
import type { Asking } from './ask-user.ts';
import { plainLine, plainText } from './plain-text.ts';

/** What is known of a question that a run waits on. */
export type ApprovalQuestion = Extract<DurableEvent, { type: 'approval_requested' }>;

export interface TypedAnswer {
  readonly decision: 'approve' | 'deny';
  readonly said: ApprovalAnswer;
}

/** Asks in the terminal whether a call may run. Null when the run is to end; Ctrl-D is a no. */
export async function askPermission(
  call: PendingCall,
  question: ApprovalQuestion | null,
  asking: Asking,
): Promise<TypedAnswer | null> {
  const { terminal, out, stopped, isStopped } = asking;
  const suggestion = question?.suggestions?.find((update) => update.type === 'addRules') ?? null;
  out.endLine();
  out.print(`\n${callLines(call)}${plainLine(question?.question ?? 'May it run?', 300)}\n${choices(suggestion)}`);
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
  const entries = Object.entries(args).map(([name, value]) => {
    const text = plainText(typeof value === 'string' ? value : JSON.stringify(value));
    return text.includes('\n') ? `  ${name}:\n${text.replaceAll(/^/gm, '    ')}\n` : `  ${name}: ${text}\n`;
  });
  return `${plainLine(toolName, 100)}\n${entries.join('')}`;
}

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

const rulesText = (update: PermissionUpdate): string =>
  'rules' in update ? update.rules.map((rule) => plainLine(rule, 200)).join(', ') : '';

const no = (message: string): TypedAnswer => ({ decision: 'deny', said: { message } });

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
