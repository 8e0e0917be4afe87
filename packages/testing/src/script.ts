import type { Turn } from './turns.ts';

/** Looks at the request and says what the reply is. `index` counts the requests from 0. */
export type TurnFunction<Request, T extends Turn = Turn> = (
  request: Request,
  index: number,
) => T | string | Promise<T | string>;

/** One entry of a script: a turn, its text alone, or a function that looks at the request. */
export type ScriptedTurn<Request, T extends Turn = Turn> = T | string | TurnFunction<Request, T>;

/** A list of turns that is used up one per request, or one function that answers every request. */
export type Script<Request, T extends Turn = Turn> = readonly ScriptedTurn<Request, T>[] | TurnFunction<Request, T>;

/** The turn for request `index`, or undefined when the script has no such turn. */
export function takeTurn<Request, T extends Turn>(
  script: Script<Request, T>,
  request: Request,
  index: number,
): T | Turn | undefined | Promise<T | Turn> {
  const entry = typeof script === 'function' ? script : script[index];
  if (entry === undefined) return undefined;
  const turn = typeof entry === 'function' ? entry(request, index) : entry;
  if (typeof turn === 'string') return { text: turn };
  if (turn instanceof Promise) return turn.then((value) => (typeof value === 'string' ? { text: value } : value));
  return turn;
}

/** What is wrong when a script has no turn left. */
export function outOfTurns(length: number, index: number): string {
  return (
    `The script has ${length} turn${length === 1 ? '' : 's'}, and this is request ${index + 1}. ` +
    'Add a turn, or give a function instead of a list to answer every request.'
  );
}
