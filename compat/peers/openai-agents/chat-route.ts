// A Hono route that serves an agent to useChat. Of the conversation, the agent gets the texts. Approvals and the results of
// tools in the page are not read back.
import { Agent, assistant, run, user } from '@openai/agents';
import { createAiSdkUiMessageStreamResponse } from '@openai/agents-extensions/ai-sdk-ui';
import type { UIMessage } from 'ai';
import { Hono } from 'hono';

const agent = new Agent({ name: 'helper', model: 'gpt-5', instructions: 'You are helpful.' });
const app = new Hono();

app.post('/chat', async (context) => {
  const { messages } = await context.req.json<{ messages: UIMessage[] }>();
  const input = messages.map(({ role, parts }) => {
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    return role === 'user' ? user(text) : assistant(text);
  });
  return createAiSdkUiMessageStreamResponse(await run(agent, input, { stream: true, signal: context.req.raw.signal }));
});

export default app;
