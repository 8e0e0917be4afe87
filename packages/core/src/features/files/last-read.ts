import type { SessionState } from '../../kernel/state.ts';

/** See `ToolContext.lastRead`. */
export function lastRead({ reads, run }: SessionState, path: string): string | null {
  const inThisTurn = run?.turn?.calls.flatMap((call) => call.reads ?? []) ?? [];
  // The model made its calls before it saw what they would read.
  const own = inThisTurn.findLast((read) => read.written === true && read.path === path);
  return own?.hash ?? reads.get(path)?.hash ?? null;
}
