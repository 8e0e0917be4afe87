import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveStatic } from '@hono/node-server/serve-static';
import { createServer } from '@treadle/server';
import { Hono } from 'hono';
import type { Agent, Journal } from 'treadle';

const root = join(import.meta.dirname, '..');

/** A chat page at `/`, and the agent behind it at `/v1`. */
export function createApp(agent: Agent, journal: Journal) {
  // The page gets this token. Whoever may see the page may use the agent: put your login in front of both.
  const token = randomBytes(32).toString('base64url');
  const agents = createServer({ agents: [agent], journal, tokens: [{ name: 'page', token }] });
  const app = new Hono();

  app.get('/', async (context) => {
    const page = await readFile(join(root, 'public/chat.html'), 'utf8');
    return context.html(page.replace('{{token}}', token));
  });
  app.get('/public/*', serveStatic({ root }));
  // The modules that the page imports, as npm installed them.
  app.get('/node_modules/@treadle/client/*', serveStatic({ root }));
  app.get('/node_modules/eventsource-parser/*', serveStatic({ root }));
  app.all('/v1/*', (context) => agents.fetch(context.req.raw));
  return { app, agents };
}
