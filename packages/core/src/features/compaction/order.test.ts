import { describe, expect, it } from 'vitest';
import { golden, scriptedModel } from '@treadle/testing';
import { createSession, defineAgent, pruneOldest, summarising } from '../../index.ts';
import { asksForSummary, explorer } from '../../test-support/long-run.ts';
import { defineTool } from '../../tools/define/define.ts';

const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'well '.repeat(600) });

/** The transcript from a turn on. Long results would hide what happens when. */
const short = (text: string, turn?: number): string =>
  text
    .slice(turn === undefined ? 0 : text.indexOf(`  turn_started ${turn}`))
    .replaceAll(/"(?:well )+"/g, '"well…"')
    .replaceAll(/^.*(?:message_started|message_delta).*\n/gm, '');

describe('the order of events around a compaction', () => {
  it('is: hook, status, summary, boundary, hook, status cleared, and then the call', async () => {
    const script = golden({ live: true });
    const hooks = [script.hook('before_compaction'), script.hook('after_compaction')];
    const agent = defineAgent({
      model: explorer(7),
      tools: [look],
      hooks,
      context: { window: 6000, strategy: summarising({ keepRecentTurns: 1 }) },
    });
    const session = await createSession(agent);
    session.subscribe(script.observe);
    await session.prompt('Look everywhere.').result;
    expect(`\n${short(script.text(), 7)}`).toBe(`
  turn_started 7 by continuation
    * before_compaction
    decision_made hook before_compaction {"decision":"proceed"}
    status compacting
    compacted (auto) by summarising: summarise; 15 messages to 4
    * after_compaction
    status null
    message_added assistant (stop) "Done."
  turn_ended
run_ended completed`);
  });

  it('of a request that was too long is: the failure, the compaction, and the same turn once more', async () => {
    const script = golden({ live: true });
    const call = { toolCalls: [{ name: 'look' }], usage: null };
    const overflow = { error: { kind: 'context_overflow' as const, message: 'prompt is too long' } };
    const agent = defineAgent({
      model: scriptedModel([call, call, call, overflow, { text: 'Done.', usage: null }]),
      tools: [look],
      context: { strategy: pruneOldest() },
      loopDetection: false,
    });
    const session = await createSession(agent);
    session.subscribe(script.observe);
    await session.prompt('Look everywhere.').result;
    expect(`\n${short(script.text(), 2)}`).toBe(`
  turn_started 2 by continuation
    message_added assistant (tool_use) calls look
    tool_started look {}
    tool_ended look "well…"
  turn_ended
  turn_started 3 by continuation
    attempt_failed context_overflow
    status compacting
    compacted (overflow) by prune_oldest: drop_oldest; 7 messages to 4
    status null
    turn_started 3 by continuation
      message_added assistant (stop) "Done."
    turn_ended
  run_ended completed`);
  });

  it('of one that nobody needs to wait for, between two runs, is the same without a run', async () => {
    const script = golden({ live: true });
    const model = scriptedModel((request) =>
      asksForSummary(request)
        ? { text: 'Hello, in short.', usage: null }
        : { text: 'Hello. '.repeat(900), usage: null },
    );
    const agent = defineAgent({ model, context: { strategy: summarising({ keepRecentTurns: 1 }) } });
    const session = await createSession(agent);
    await session.prompt('Hello.').result;
    await session.prompt('Once more.').result;
    session.subscribe(script.observe);
    await session.compact();
    expect(`\n${short(script.text())}`).toBe(`
status compacting
compacted (manual) by summarising: summarise; 4 messages to 3
status null`);
  });
});
