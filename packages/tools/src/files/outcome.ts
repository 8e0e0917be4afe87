import type { ToolResult } from '@treadle/core';
import { FileProblem } from '../root/problem.ts';

/** Runs a tool's work; a `FileProblem` becomes an error result for the model, anything else goes on being thrown. */
export async function withProblems(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    return { content: error.message, isError: true, details: { problem: error.code } };
  }
}

/** Throws the problem that a tool answers with when its call was aborted. */
export function stopIfAborted(signal: AbortSignal, what: string): void {
  if (signal.aborted) throw new FileProblem('aborted', `${what} was aborted.`);
}

/** `1 line`, `2 lines`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
