import type { TreadleEvent } from '@treadle/core';

import { plainLine } from '../asking/plain-text.ts';

/** This process as others see it. */
export const selfName = (user: string | undefined, pid: number): string =>
  `${user ?? 'somebody'} at another terminal (process ${pid})`;

/**
 * What somebody has said to a session, as a line for those who read along; null for what is no word of a person's.
 *
 * @param self the reader: their own words need no line, but an answer does
 * @param elsewhere who it was where the log doesn't say: whoever drives the session
 */
export function saidBy(event: TreadleEvent, self: string | null, elsewhere: string): string | null {
  if (event.type !== 'input_received') return null;
  const { input } = event;
  const by = 'by' in input && input.by !== undefined ? input.by : elsewhere;
  const who = by === self ? 'you' : plainLine(by, 80);
  switch (input.type) {
    case 'approval_answer': {
      const why =
        input.message === undefined || input.decision === 'approve' ? '' : `: ${plainLine(input.message, 200)}`;
      return `${input.decision === 'approve' ? 'Allowed' : 'Refused'} by ${who}${why}`;
    }
    case 'steering':
    case 'follow_up':
      if (by === self || by === '') return null;
      return `Said by ${who}: ${plainLine(input.message.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' '), 200)}`;
    case 'cancel':
      return by === '' ? null : `Ended by ${who}`;
    default:
      return null;
  }
}
