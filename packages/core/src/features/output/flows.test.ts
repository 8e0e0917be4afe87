import { describe, expect, it } from 'vitest';
import { golden, scriptedModel, type Turn } from '@treadle/testing';
import { createSession, defineAgent, type AgentDefinition, type OutputGuardrail } from '../../index.ts';

// How a run ends, or doesn't begin, as transcripts.

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

async function play(turns: readonly (Turn | string)[], definition: Partial<AgentDefinition>): Promise<string> {
  const session = await createSession(defineAgent({ model: scriptedModel(turns), ...definition }), { id: 's' });
  const script = golden();
  session.subscribe(script.observe);
  await session.prompt('Where is it?').result;
  return `\n${script.text()}`;
}

const gives = (args: NonNullable<Turn['toolCalls']>[number]['arguments']): Turn => ({
  toolCalls: [{ name: 'structured_output', arguments: args ?? {} }],
});

describe('structured output', () => {
  it('ends well with a value that fits', async () => {
    expect(await play(['{"city":"Oslo"}'], { output: { schema, mode: 'native' } })).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Where is it?"
    message_added assistant (stop) "{\\"city\\":\\"Oslo\\"}"
  turn_ended
  decision_made check output {"ok":true,"value":{"city":"Oslo"}}
run_ended completed`);
  });

  it('tells the model what is wrong, and ends well when it is mended', async () => {
    expect(await play([gives({ town: 'Oslo' }), gives({ city: 'Oslo' })], { output: { schema } })).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Where is it?"
    message_added assistant (tool_use) calls structured_output
    tool_call_rejected structured_output (invalid_arguments) "Not executed: the arguments of structured_output don't fit its schema.\\n- /city: is required but missing"
  turn_ended
  turn_started 1 by continuation
    message_added assistant (tool_use) calls structured_output
    tool_started structured_output {"city":"Oslo"}
    tool_ended structured_output "Taken as the answer."
  turn_ended
  decision_made check output {"ok":true,"value":{"city":"Oslo"}}
run_ended completed`);
  });

  it('ends with an end of its own when the retries are spent', async () => {
    const turns = ['"Oslo"', '{"city":1}', '{}'];
    expect(await play(turns, { output: { schema, mode: 'prompted' } })).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Where is it?"
    message_added assistant (stop) "\\"Oslo\\""
  turn_ended
  decision_made check output {"ok":false,"message":"The answer doesn't fit its schema.\\n- the answer: must be object, got string \\"Oslo\\"\\nReply with the whole answer, as JSON."}
  turn_started 1 by continuation
    message_added user (check) "The answer doesn't fit its schema.\\n- the answer: must be object, got string \\"Oslo\\"\\nReply with the whole answer, as JSON."
    message_added assistant (stop) "{\\"city\\":1}"
  turn_ended
  decision_made check output {"ok":false,"message":"The answer doesn't fit its schema.\\n- /city: must be string, got number 1\\nReply with the whole answer, as JSON."}
  turn_started 2 by continuation
    message_added user (check) "The answer doesn't fit its schema.\\n- /city: must be string, got number 1\\nReply with the whole answer, as JSON."
    message_added assistant (stop) "{}"
  turn_ended
  decision_made check output {"ok":false,"message":"The answer doesn't fit its schema.\\n- /city: is required but missing\\nReply with the whole answer, as JSON."}
run_ended invalid_output "The answer didn't fit its schema, 3 times."`);
  });
});

describe('the check of the final answer', () => {
  it('sends an answer back, then lets it pass', async () => {
    const guardrail: OutputGuardrail = (text) =>
      text.includes('Oslo') ? { ok: true } : { ok: false, message: 'Name the city.' };
    expect(await play(['Up north.', 'In Oslo.'], { outputGuardrails: [guardrail] })).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Where is it?"
    message_added assistant (stop) "Up north."
  turn_ended
  decision_made check check {"ok":false,"message":"Name the city.","retries":3}
  turn_started 1 by continuation
    message_added user (check) "Name the city."
    message_added assistant (stop) "In Oslo."
  turn_ended
  decision_made check check {"ok":true}
run_ended completed`);
  });

  it('ends the run when answers keep failing', async () => {
    const check = () => ({ ok: false, message: 'No.' }) as const;
    expect(await play(['a', 'b'], { outputGuardrails: [{ execute: check, retries: 1 }] })).toBe(`
run_started
  turn_started 0 by user
    message_added user (prompt) "Where is it?"
    message_added assistant (stop) "a"
  turn_ended
  decision_made check check {"ok":false,"message":"No.","retries":1}
  turn_started 1 by continuation
    message_added user (check) "No."
    message_added assistant (stop) "b"
  turn_ended
  decision_made check check {"ok":false,"message":"No.","retries":1}
run_ended guardrail_failed "The answer failed its check, 2 times: No."`);
  });
});

describe('input filters', () => {
  it('reject a prompt before its run starts', async () => {
    const inputGuardrails = [() => ({ verdict: 'reject', reason: 'Not that.' }) as const];
    expect(await play(['Here.'], { inputGuardrails })).toBe(`
decision_made filter filter {"verdict":"reject","reason":"Not that."}
input_rejected "Not that."
run_ended rejected "Not that."`);
  });

  it('warn of a prompt, which goes in with the warning', async () => {
    const inputGuardrails = [() => ({ verdict: 'warn', message: 'Vague.' }) as const];
    expect(await play(['Here.'], { inputGuardrails })).toBe(`
decision_made filter filter {"verdict":"warn","warnings":["Vague."]}
run_started
  turn_started 0 by user
    message_added user (prompt) "Where is it?", "[Warning: Vague.]"
    message_added assistant (stop) "Here."
  turn_ended
run_ended completed`);
  });
});
