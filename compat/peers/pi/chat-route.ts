// A Hono route that serves an agent to useChat. pi has no stream for it: the chunks of texts are written by hand, and tools,
// approvals and earlier turns are left out.
import { Agent } from '@earendil-works/pi-agent-core';
import { builtinModels, getBuiltinModel } from '@earendil-works/pi-ai/providers/all';
import { createUIMessageStream, createUIMessageStreamResponse, type UIMessage } from 'ai';
import { Hono } from 'hono';

const models = builtinModels();
const app = new Hono();

app.post('/chat', async (context) => {
  const { messages } = await context.req.json<{ messages: UIMessage[] }>();
  const prompt = messages.at(-1)?.parts.map((part) => (part.type === 'text' ? part.text : '')) ?? [];
  const agent = new Agent({
    initialState: { systemPrompt: 'You are helpful.', model: getBuiltinModel('openai', 'gpt-5') },
    streamFn: models.streamSimple.bind(models),
  });
  const stream = createUIMessageStream({
    execute: async ({ writer }) => {
      agent.subscribe((event) => {
        if (event.type !== 'message_update') return;
        const { assistantMessageEvent: part } = event;
        if (part.type === 'text_start') writer.write({ type: 'text-start', id: String(part.contentIndex) });
        if (part.type === 'text_delta')
          writer.write({ type: 'text-delta', id: String(part.contentIndex), delta: part.delta });
        if (part.type === 'text_end') writer.write({ type: 'text-end', id: String(part.contentIndex) });
      });
      context.req.raw.signal.addEventListener('abort', () => agent.abort());
      await agent.prompt(prompt.join(''));
    },
  });
  return createUIMessageStreamResponse({ stream });
});

export default app;
