// A job that the next process goes on with when one was killed: node resume.ts, and then with --resume.
import { createSession, defineAgent, defineTool, model, openSession, sqliteJournal } from 'treadle';
import { z } from 'zod';

const send = defineTool({
  name: 'send_invoice',
  description: 'Sends the invoice of a customer.',
  inputSchema: z.object({ customer: z.string() }),
  replay: 'safe', // The key is the same for every attempt, so the service sends it once.
  async execute({ customer }, { idempotencyKey: body }) {
    const sent = await fetch(`${process.env['INVOICES']}/${customer}`, { method: 'PUT', body });
    return { status: sent.status };
  },
});
const agent = defineAgent({ model: model('anthropic/claude-sonnet-5-5'), tools: [send] });
const options = { id: 'job', journal: sqliteJournal({ path: 'jobs.db' }) };
const run = process.argv.includes('--resume')
  ? (await openSession(agent, 'job', options)).resume()
  : (await createSession(agent, options)).prompt('Send the invoices of Ada and Bob.');
console.log((await run.result).text);
