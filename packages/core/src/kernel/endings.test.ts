import { golden, scriptedModel, testClock, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { createSession, defineAgent, defineTool, type AgentDefinition } from '../index.ts';

// The conditions under which a run ends, each as it shows in the log.

const work = defineTool({
  name: 'work',
  description: 'Works.',
  inputSchema: { type: 'object', properties: { step: { type: 'number' } } },
  execute: ({ step = 0 }) => `did ${step}`,
});
const call = (step: number): Turn => ({ toolCalls: [{ name: 'work', arguments: { step } }] });
const cost = (): number => 0.3;

/** The last lines of a run's transcript: from its last turn on. */
async function ending(turns: readonly (Turn | string)[], definition: Partial<AgentDefinition> = {}): Promise<string> {
  const script = golden();
  const model = scriptedModel(turns, { cost });
  const session = await createSession(defineAgent({ model, tools: [work], maxTokens: 100, ...definition }), {
    id: 's1',
  });
  session.subscribe(script.observe);
  await session.prompt('Go.').result;
  const lines = script.text().split('\n');
  return lines.slice(lines.findLastIndex((line) => line.includes('turn_started'))).join('\n');
}

describe('how a run ends', () => {
  it('when the model is done', async () => {
    expect(await ending(['Done.'])).toMatchInlineSnapshot(`
      "  turn_started 0 by user
          message_added user (prompt) "Go."
          message_added assistant (stop) "Done."
        turn_ended
      run_ended completed"
    `);
  });

  it('as an error when the model stops to call a tool and calls none', async () => {
    expect(await ending([{ text: 'I look.', stopReason: 'tool_use' }])).toMatchInlineSnapshot(`
      "  turn_started 0 by user
          message_added user (prompt) "Go."
          message_added assistant (tool_use) "I look."
        turn_ended
      run_ended model_error "The model stopped to call a tool, and its reply has no call that can run. Try again, or ask another model.""
    `);
  });

  it('at the limit of turns', async () => {
    expect(await ending([call(1)], { limits: { maxTurns: 1 } })).toMatchInlineSnapshot(`
      "  turn_started 0 by user
          message_added user (prompt) "Go."
          message_added assistant (tool_use) calls work
          tool_started work {"step":1}
          tool_ended work "did 1"
        turn_ended
        message_added user (limit) "[Agent stopped: turn limit reached (1 of 1 turns)]"
      run_ended turn_limit "turn limit reached (1 of 1 turns)""
    `);
  });

  it('at the limit of turns, with a closing call', async () => {
    const definition = { limits: { maxTurns: 1 }, wrapUp: 'Sum up.' };
    expect(await ending([call(1), 'One step is done.'], definition)).toMatchInlineSnapshot(`
      "  turn_started 1 by continuation
          message_added user (limit) "[Agent stopped: turn limit reached (1 of 1 turns)] Sum up."
          message_added assistant (stop) "One step is done."
        turn_ended
      run_ended turn_limit "turn limit reached (1 of 1 turns)""
    `);
  });

  it('at the limit of tool turns', async () => {
    expect(await ending([call(1)], { limits: { maxToolTurns: 1 } })).toMatchInlineSnapshot(`
      "  turn_started 0 by user
          message_added user (prompt) "Go."
          message_added assistant (tool_use) calls work
          tool_started work {"step":1}
          tool_ended work "did 1"
        turn_ended
        message_added user (limit) "[Agent stopped: tool turn limit reached (1 of 1 tool turns)]"
      run_ended tool_turn_limit "tool turn limit reached (1 of 1 tool turns)""
    `);
  });

  it('at the limit of tool calls', async () => {
    const both: Turn = { toolCalls: [...(call(1).toolCalls ?? []), ...(call(2).toolCalls ?? [])] };
    expect(await ending([both], { limits: { maxToolCalls: 1 } })).toMatchInlineSnapshot(`
      "  turn_started 0 by user
          message_added user (prompt) "Go."
          message_added assistant (tool_use) calls work, calls work
          tool_started work {"step":1}
          tool_ended work "did 1"
          tool_call_rejected work (limit) "Not executed: tool call limit reached (1 of 1 tool calls)"
        turn_ended
        message_added user (limit) "[Agent stopped: tool call limit reached (1 of 1 tool calls)]"
      run_ended tool_call_limit "tool call limit reached (1 of 1 tool calls)""
    `);
  });

  it('at the limit of tokens', async () => {
    expect(await ending([call(1)], { limits: { maxTotalTokens: 10 } })).toMatchInlineSnapshot(`
      "  turn_started 0 by user
          message_added user (prompt) "Go."
          message_added assistant (tool_use) calls work
          tool_started work {"step":1}
          tool_ended work "did 1"
        turn_ended
        message_added user (limit) "[Agent stopped: token limit reached (15 of 10 tokens)]"
      run_ended token_limit "token limit reached (15 of 10 tokens)""
    `);
  });

  it('when the money is used up', async () => {
    expect(await ending([call(1)], { limits: { maxCost: 0.5 } })).toMatchInlineSnapshot(`
      "  turn_started 1 by continuation
          decision_made budget s1.scripted.scripted.1/1/1 {"granted":false,"message":"budget reached ($0.30 of $0.50); the next call could cost $0.3000"}
        turn_ended
        message_added user (limit) "[Agent stopped: budget reached ($0.30 of $0.50); the next call could cost $0.3000]"
      run_ended budget_limit "budget reached ($0.30 of $0.50); the next call could cost $0.3000""
    `);
  });

  it('when it gets nowhere', async () => {
    expect(await ending([call(1), call(1), call(1), call(1)])).toMatchInlineSnapshot(`
      "  turn_started 3 by continuation
          message_added user (reminder) "[No progress: the same call with the same result 3 times in a row: work({\\"step\\":1}). Doing it again will not help. Try something else, or say what keeps you from going on. The run stops if this goes on.]"
          message_added assistant (tool_use) calls work
          tool_started work {"step":1}
          tool_ended work "did 1"
        turn_ended
        message_added user (limit) "[Agent stopped: no progress (the same call with the same result 4 times in a row: work({\\"step\\":1}))]"
      run_ended loop_detected "no progress (the same call with the same result 4 times in a row: work({\\"step\\":1}))""
    `);
  });

  it('when the model fails', async () => {
    expect(await ending([{ error: { status: 400, message: 'bad request' } }])).toMatchInlineSnapshot(`
      "  turn_started 0 by user
          message_added user (prompt) "Go."
          attempt_failed api
        turn_ended
      run_ended model_error "bad request""
    `);
  });

  it('when time is up, and when a person ends it', async () => {
    for (const how of ['time', 'person'] as const) {
      const script = golden();
      const clock = testClock();
      const model = scriptedModel([{ text: 'Slow.', delayMs: 60_000 }], { clock });
      const session = await createSession(defineAgent({ model, limits: { maxDurationMs: 5000 } }), { clock });
      session.subscribe(script.observe);
      const run = session.prompt('Go.');
      await run.id;
      if (how === 'time') await clock.advance(5000);
      else await session.abort('Enough.');
      await run.result;
      const last = script.text().split('\n').slice(3).join('\n');
      if (how === 'time')
        expect(last).toMatchInlineSnapshot(`
        "  turn_ended
          message_added user (limit) "[Agent stopped: time limit reached (5.0 s of 5 s)]"
        run_ended time_limit "time limit reached (5.0 s of 5 s)""
      `);
      else
        expect(last).toMatchInlineSnapshot(`
        "  turn_ended
        run_ended aborted "Enough.""
      `);
    }
  });
});
