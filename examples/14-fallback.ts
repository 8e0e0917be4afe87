// A provider that is overloaded, and another that takes over. Both are real servers on this machine that speak the real
// protocols; only what the models say is written down. What was decided is in the log, so another process need not ask.

import { createSession, defineAgent } from '@treadle/core';
import { resolveModel } from '@treadle/models';
import { fakeProvider } from '@treadle/testing';

const overloaded = { error: { status: 529, code: 'overloaded_error', message: 'Overloaded' } };
const first = await fakeProvider([overloaded, overloaded]);
const second = await fakeProvider(['Good morning from the other one.']);

// Without these settings the keys come from ANTHROPIC_API_KEY and OPENAI_API_KEY, and the addresses are the providers'.
const agent = defineAgent({
  model: resolveModel('anthropic/claude-sonnet-5-5', { apiKey: 'none', baseUrl: first.anthropicBaseUrl }),
  fallbacks: [resolveModel('groq/openai/gpt-oss-120b', { apiKey: 'none', baseUrl: second.openaiBaseUrl })],
  retry: { maxRetries: 1, initialDelayMs: 10 },
});

const session = await createSession(agent);
for await (const event of session.prompt('Good morning!')) {
  if (event.type === 'attempt_failed') {
    const { error, retry } = event;
    const next = agent.models[retry?.modelIndex ?? Infinity]?.provider ?? 'nobody';
    console.log(`${String(error.status)} ${error.message}; asked next: ${next}`);
  }
  if (event.type === 'message_added' && event.message.role === 'assistant') {
    const { provider, model, usage, cost } = event.message;
    console.log(`${provider}/${model}: ${usage.input} tokens in, ${usage.output} out, $${cost ?? '?'}`);
  }
  if (event.type === 'run_ended') console.log(event.status);
}
console.log(
  first.requests.map(({ path }) => path),
  second.requests.map(({ path }) => path),
);
await Promise.all([first.close(), second.close()]);

/* Output:
529 Overloaded; asked next: anthropic
529 Overloaded; asked next: groq
groq/openai/gpt-oss-120b: 10 tokens in, 5 out, $0.0000045
completed
[ '/v1/messages', '/v1/messages' ] [ '/v1/chat/completions' ]
*/
