import type { UserContent } from '@treadle/core';

import type { TerminalSession } from '../session/session.ts';
import { blockRows, type RowOptions } from '../view/rows.ts';
import type { Block } from '../view/blocks.ts';
import { commandIn } from '../view/words.ts';

/** What goes to the scrollback: what is finished of the session, and lines of this terminal's own. Each is printed once. */
export interface Scroll {
  /** Prints a block of this terminal's own. */
  add(block: Block): void;
  /** Prints a command of the user's, which the session tells of again later. */
  ran(told: UserContent): void;
  /** This prompt stands there already: whoever typed it saw it. */
  said(prompt: string): void;
  /** The rows that are new. */
  rows(finished: readonly Block[], options: RowOptions): string[];
  /** Another session begins. */
  restart(): void;
}

/** A line above the transcript of another session. */
export const beginning = ({ id }: Pick<TerminalSession, 'id'>): Block => ({
  type: 'notice',
  text: id === '' ? '── a new session ──' : `── session ${id.replace(/^session_/, '').slice(0, 8)} ──`,
  tone: 'dim',
});

/** @param seen is told of each block before it is drawn */
export function createScroll(seen: (block: Block) => void): Scroll {
  let before: Block | null = null;
  let own: Block[] = [];
  /** Commands that were printed when they ran, and that the session has not told of yet. */
  const ran: string[] = [];
  const said: string[] = [];

  const taken = (from: string[], text: string): boolean => {
    const at = from.indexOf(text);
    if (at !== -1) from.splice(at, 1);
    return at !== -1;
  };
  const wasPrinted = (block: Block): boolean =>
    block.type === 'shell'
      ? taken(ran, `${block.command}\n${block.output}`)
      : block.type === 'prompt' && block.by === undefined && taken(said, block.text.split('\n')[0] ?? '');

  return {
    add: (block) => void own.push(block),
    ran(told) {
      const command = commandIn(told);
      if (!command) return;
      ran.push(`${command.command}\n${command.output}`);
      own.push({ type: 'shell', ...command });
    },
    said: (prompt) => void said.push(prompt),
    rows(finished, options) {
      const blocks = [...finished.filter((block) => !wasPrinted(block)), ...own];
      own = [];
      return blocks.flatMap((block) => {
        seen(block);
        const rows = blockRows(block, before, options);
        before = block;
        return rows;
      });
    },
    restart() {
      before = null;
      ran.length = 0;
      said.length = 0;
    },
  };
}
