import type { Agent } from '../../agent/agent.ts';
import type { SessionState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';

/** Fetches the files that a run has seen before it ends; null when there are none, or nowhere to keep them. */
export function filesDue({ run }: SessionState, { models }: Agent, keepsBlobs: boolean): Step | null {
  if (!run?.seenFiles || !keepsBlobs) return null;
  const files = run.seenFiles.filter(({ provider }) =>
    models.some((model) => model.provider === provider && model.files),
  );
  return files.length === 0 ? null : { type: 'keep_files', files };
}
