import type { DurableEvent, ToolResultContent } from '@treadle/core';
import type { UserContent } from '@treadle/core/messages';

import { plainLine } from '../../cli/asking/plain-text.ts';
import { duration } from '../../cli/output/figures.ts';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

/** The texts of a message; of anything else what it is. */
export const bodyText = (content: readonly (UserContent | ToolResultContent)[]): string =>
  content.map((block) => (block.type === 'text' ? block.text : `[${block.type} ${block.mediaType}]`)).join('\n');

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

export function failedWords({ error, retry }: EventOf<'attempt_failed'>): string {
  return `The model's call failed and is tried again in ${duration(retry?.delayMs ?? 0)}: ${plainLine(error.message, 300)}`;
}

/** Why a run ended that is not completed. */
export function rowsOfEnd({ status, message }: EventOf<'run_ended'>): string {
  if (status === 'aborted') return 'Interrupted. The conversation goes on with your next message.';
  return plainLine(message ?? `The run ended: ${status}.`, 500);
}
