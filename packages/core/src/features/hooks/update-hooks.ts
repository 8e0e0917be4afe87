import { askHooks, tellHooks } from './ask.ts';
import type { HookCallUpdate } from './hook.ts';
import type { PerformContext } from '../../kernel/context.ts';
import { hookEnvironment } from './decide.ts';

/** Hooks around the partial results of one call. They decide what watchers see, and nothing else. */
export interface UpdateHooks {
  take(update: HookCallUpdate, show: () => void): void;
  /** Resolves when every update so far was shown or suppressed. */
  settled(): Promise<void>;
}

/** Null when no hook wants to hear of this tool's updates. */
export function updateHooks(context: PerformContext, runId: string, toolName: string): UpdateHooks | null {
  const { agent, state, interrupt } = context;
  const { hooks } = agent;
  if (!hooks?.has('before_tool_update', toolName) && !hooks?.has('after_tool_update', toolName)) return null;
  const abort = new AbortController();
  const forget = interrupt.on(() => abort.abort());
  const environment = hookEnvironment(context, abort.signal, runId);
  const common = { sessionId: state.sessionId, agentId: agent.id, runId };
  // One after the other, so that updates keep their order however long a hook takes.
  let last: Promise<void> = Promise.resolve();
  const offer = async (update: HookCallUpdate, show: () => void): Promise<void> => {
    const { decision } = await askHooks(hooks, { event: 'before_tool_update', ...common, ...update }, environment);
    if (decision === 'deny') return;
    show();
    await tellHooks(hooks, { event: 'after_tool_update', ...common, ...update }, environment);
  };
  return {
    take(update, show) {
      last = last.then(() => offer(update, show));
    },
    async settled() {
      await last;
      forget();
    },
  };
}
