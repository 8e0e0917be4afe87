import type { Journal } from '@treadle/core';
import type { Sessions } from '@treadle/core/history';

import type { CommandContext } from '../context.ts';
import type { ParsedOptions } from '../options.ts';
import { sessionOf } from './folder-sessions.ts';

/** What a command of `treadle sessions` works on. */
export interface Work {
  readonly context: CommandContext;
  readonly journal: Journal;
  readonly sessions: Sessions;
  readonly words: readonly string[];
  readonly options: ParsedOptions<string>;
}

/** Does what a command is for. */
export type Worker = (work: Work) => Promise<void>;

/** One object for programs, or text for people. */
export function say({ context: { out }, options }: Work, facts: object, text: string): void {
  out.print(`${options.flag('json') ? JSON.stringify(facts) : text}\n`);
}

/** The session that the first word means. */
export const idOf = ({ journal, words: [id = ''] }: Work): Promise<string> => sessionOf(journal, id);
