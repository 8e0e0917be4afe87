// A route for useChat of the AI SDK, in a Hono application of your own.
import { serve } from '@hono/node-server';
import { createServer } from '@treadle/server';
import { Hono } from 'hono';
import { defineAgent, memoryJournal, model } from 'treadle';

const agent = defineAgent({ model: model('anthropic/claude-sonnet-5-5'), instructions: 'Answer briefly.' });
const tokens = [{ name: 'page', token: 'a-token-that-the-page-sends' }];
const server = createServer({ agents: [agent], journal: memoryJournal(), tokens });
const app = new Hono();
app.post('/api/chat', (c) => server.fetch(new Request(new URL('/v1/ai-sdk/chat', c.req.url), c.req.raw)));
serve({ fetch: app.fetch, port: Number(process.env['PORT']) }, ({ port }) => console.log(`http://localhost:${port}`));
