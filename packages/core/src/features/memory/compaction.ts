import { inTime } from './ask.ts';
import type { PerformContext } from '../../kernel/context.ts';

/** Tells the memory, if the agent has one, of a compaction that is about to begin or is in the log. Failing is a warning. */
export async function tellMemory(
  context: PerformContext,
  moment: 'beforeCompaction' | 'afterCompaction',
): Promise<void> {
  const { agent, state, clock, interrupt, emit } = context;
  const { store, timeoutMs = 0 } = agent.memory ?? {};
  if (!store?.[moment]) return;
  const { run } = state;
  const place = run === null ? {} : { runId: run.runId };
  const metadata = run?.metadata ? { metadata: run.metadata } : {};
  const news = { sessionId: state.sessionId, agentId: agent.id, ...place, ...metadata, messages: [...state.view] };
  const abort = new AbortController();
  const forget = interrupt.on(() => abort.abort());
  const outcome = await inTime({ clock, signal: abort.signal }, timeoutMs, async (signal) =>
    store[moment]?.({ ...news, signal }),
  );
  forget();
  if (outcome.ok || abort.signal.aborted) return;
  const message = `${outcome.problem}${/[.!?]$/.test(outcome.problem) ? '' : '.'} It was told of a compaction (${moment}).`;
  emit({ type: 'warning', afterSeq: state.seq, ...place, code: 'memory_failed', message });
}
