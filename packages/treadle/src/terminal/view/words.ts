import type { DurableEvent, ToolResultContent } from '@treadle/core';
import type { TextBlock, UserContent } from '@treadle/core/messages';
import { parseJson } from '@treadle/core/json';

import { plainLine } from '../../cli/asking/plain-text.ts';
import { counted, duration } from '../../cli/output/figures.ts';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

/** The texts of a message; of anything else what it is. */
export const bodyText = (content: readonly (UserContent | ToolResultContent)[]): string =>
  content.map((block) => (block.type === 'text' ? block.text : `[${block.type} ${block.mediaType}]`)).join('\n');

const FILE = /^<file path=("(?:[^"\\\n]|\\.)*")>\n/;
const TOLD = 'I ran this command:\n\n! ';

/** What the model is told of a command that the user has run. */
export const toldOf = (command: string, output: string): TextBlock => ({
  type: 'text',
  text: `${TOLD}${command}\n\n${output}`,
});

/** The command and its output, where a block of a message tells of one. */
export function commandIn(block: UserContent): { readonly command: string; readonly output: string } | null {
  if (block.type !== 'text' || !block.text.startsWith(TOLD)) return null;
  const [command = '', ...rest] = block.text.slice(TOLD.length).split('\n\n');
  return { command, output: rest.join('\n\n') };
}

/** What the model is told with each message in plan mode. */
const PLAN_NOTE: TextBlock = {
  type: 'text',
  text: 'For this message, the user has switched on plan mode: only calls that change nothing are run. Look around, and answer with a plan. The user leaves plan mode to have it carried out.',
};

/** What goes with a message in a permission mode. */
export const modeNotes = (mode: string): readonly TextBlock[] => (mode === 'plan' ? [PLAN_NOTE] : []);

const isPlanNote = (block: UserContent): boolean => block.type === 'text' && block.text === PLAN_NOTE.text;

/** What of a message is the user's own. */
export const ownContent = (content: readonly UserContent[]): readonly UserContent[] =>
  content.filter((block) => !isPlanNote(block));

/** What was typed of a message: neither files nor commands. */
export const typedText = (content: readonly UserContent[]): string =>
  ownContent(content)
    .flatMap((block) => (block.type === 'text' && !commandIn(block) && !FILE.test(block.text) ? [block.text] : []))
    .join('\n');

/** A message of the user's in short: commands by name, and files by their names and sizes. */
export const shortText = (content: readonly UserContent[]): string =>
  ownContent(content)
    .map((block) => {
      const ran = commandIn(block);
      if (ran) return `! ${ran.command}`;
      if (block.type !== 'text') return `[${block.type} ${block.mediaType}]`;
      const [head, name] = FILE.exec(block.text) ?? [];
      if (head === undefined || name === undefined) return block.text;
      const lines = block.text.slice(head.length).trimEnd().split('\n').length - 1;
      return `[${String(parseJson(name))}, ${counted(lines, 'line')}]`;
    })
    .join('\n');

/** Who said what to a question. */
export function answerWords(
  { decision, message, updatedPermissions }: EventOf<'approval_answered'>,
  by: string,
): string {
  const scope = updatedPermissions?.[0]?.destination;
  const always = scope === 'session' ? ' for this session' : scope === undefined ? '' : ' always';
  const said = message?.replace(/^The user said no(?:: |\.$)/, '') ?? '';
  const why = said === '' ? '' : `: ${plainLine(said, 200)}`;
  return decision === 'approve' ? `allowed${always} by ${by}` : `refused by ${by}${why}`;
}

/** How a session goes on that nobody drives. @param isRun a run is open; else a prompt waits */
export const offerWords = (isRun: boolean, key = 'Enter'): string =>
  isRun
    ? `The run broke off. ${key} goes on with it; a message begins another one.`
    : `Nobody has answered this message. ${key} gets its answer${key === 'Enter' ? ', Esc takes it back' : ''}.`;

export function failedWords({ error, retry }: EventOf<'attempt_failed'>): string {
  return `The model's call failed and is tried again in ${duration(retry?.delayMs ?? 0)}: ${plainLine(error.message, 300)}`;
}

/** Why a run ended that is not completed. */
export function rowsOfEnd({ status, message }: EventOf<'run_ended'>, isKeyRefused: boolean): string {
  if (status === 'aborted') return 'Interrupted. The conversation goes on with your next message.';
  const said = plainLine(message ?? `The run ended: ${status}.`, 500);
  return isKeyRefused
    ? `${said}\nThe key may be wrong. treadle login keeps another one; a key in the environment counts first.`
    : said;
}
