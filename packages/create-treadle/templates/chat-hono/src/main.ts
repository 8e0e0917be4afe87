import { serve } from '@hono/node-server';
import { sqliteJournal } from 'treadle';
import { createAgent } from './agent.ts';
import { createApp } from './app.ts';
import { model } from './model.ts';

const journal = sqliteJournal({ path: 'sessions.db' });
const { app, agents } = createApp(createAgent(model(), process.cwd()), journal);

// Runs that the last process left unfinished go on.
await agents.recover();

const port = Number(process.env.PORT ?? 3000);
serve({ fetch: app.fetch, hostname: '127.0.0.1', port }, (address) => {
  console.log(`http://127.0.0.1:${address.port}`);
});
