import { PROMPT } from '../../scenarios.ts';
import type { BenchTool, Contender, Setup } from '../contestant.ts';

/** What the floor knows of one wire: it keeps nothing but the wire's own messages. */
export interface FloorWire {
  /** Messages before the conversation. */
  readonly first: readonly object[];
  /** A message that is text. */
  said(role: 'user' | 'assistant', text: string): object;
  /** Asks once, adds the answer and the results of its calls to the messages; null when there were calls. */
  turn(messages: object[]): Promise<string | null>;
}

/** A loop over a wire, as somebody would write it in an afternoon. */
export const loopOn = ({ first, said, turn }: FloorWire): Contender => ({
  async open() {
    const messages = [...first];
    return {
      async run() {
        messages.push(said('user', PROMPT));
        for (;;) {
          const answer = await turn(messages);
          if (answer !== null) return answer;
        }
      },
    };
  },
});

/** A call, once its arguments are whole. */
export interface FloorCall {
  readonly name: string;
  readonly args: unknown;
}

/** Executes calls at once, by the tools' names. */
export function executor(tools: Setup['tools']): (calls: readonly FloorCall[]) => Promise<(string | undefined)[]> {
  const byName = new Map<string, BenchTool>(tools.map((tool) => [tool.name, tool]));
  return (calls) => Promise.all(calls.map(({ name, args }) => byName.get(name)?.execute(args)));
}
