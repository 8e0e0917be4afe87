import type { TerminalSession } from '../session/session.ts';
import type { Block } from '../view/blocks.ts';
import { createView } from '../view/view.ts';
import type { TerminalHost } from './host.ts';

/** All of a session, from its log, or one result. Results are numbered from the first that the screen has. */
export async function transcriptOf(
  host: Pick<TerminalHost, 'label' | 'self' | 'since'>,
  session: Pick<TerminalSession, 'history' | 'leftOut'>,
  number?: number,
): Promise<readonly Block[]> {
  const view = createView(host);
  const after = number === undefined ? 0 : session.leftOut;
  for await (const event of session.history()) if (event.seq > after) view.take(event);
  const blocks = view.finished();
  if (number === undefined) return blocks;
  return blocks.filter((block) => block.type === 'tool' && block.cell.number === number);
}
