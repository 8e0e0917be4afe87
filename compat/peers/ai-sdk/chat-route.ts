// A Hono route that serves an agent to useChat. The conversation is the client's: nothing is kept on the server.
import { openai } from '@ai-sdk/openai';
import { createAgentUIStreamResponse, ToolLoopAgent } from 'ai';
import { Hono } from 'hono';

const agent = new ToolLoopAgent({ model: openai('gpt-5'), instructions: 'You are helpful.' });
const app = new Hono();

app.post('/chat', async (context) => {
  const { messages } = await context.req.json();
  return createAgentUIStreamResponse({ agent, uiMessages: messages, abortSignal: context.req.raw.signal });
});

export default app;
