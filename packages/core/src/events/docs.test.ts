import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { TreadleEvent } from './events.ts';

// Every type of the union, or this doesn't compile.
const TYPES: Record<TreadleEvent['type'], true> = {
  session_created: true,
  file_checkpointed: true,
  files_rewound: true,
  files_generated: true,
  drive_started: true,
  input_received: true,
  input_rejected: true,
  run_started: true,
  turn_started: true,
  message_added: true,
  attempt_failed: true,
  message_discarded: true,
  tool_call_rejected: true,
  decision_made: true,
  tool_started: true,
  tool_ended: true,
  tool_paused: true,
  approval_requested: true,
  approval_answered: true,
  run_paused: true,
  compacted: true,
  compaction_failed: true,
  budget_settled: true,
  turn_ended: true,
  branches_started: true,
  branches_ended: true,
  task_updated: true,
  run_ended: true,
  message_started: true,
  message_delta: true,
  tool_progress: true,
  tool_update: true,
  task_progress: true,
  status: true,
  child_event: true,
  branch_event: true,
  warning: true,
};

describe('docs/events.md', () => {
  it.each(Object.keys(TYPES))('describes %s', (type) => {
    const page = readFileSync(new URL('../../../../docs/events.md', import.meta.url), 'utf8');
    expect(page).toContain(`\`${type}\``);
  });
});
