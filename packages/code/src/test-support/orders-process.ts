// `orders-process.ts {folder} {dieAt}`: goes on with a script that charges 200 orders, and kills itself around a charge: before
// it takes effect when `dieAt` is even, after it when odd. Beyond 200 it lives, and prints what the model read.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSession, defineAgent, defineTool, openSession } from '@treadle/core';
import { fileJournal } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';

import { withCode } from '../index.ts';

const [folder = '', at = ''] = process.argv.slice(2);
const dieAt = Number(at);
const effects = join(folder, 'charged');
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('It goes on.');
};

const charge = defineTool({
  name: 'charge',
  description: 'Charges an order.',
  inputSchema: { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] },
  replay: 'never',
  execute: ({ order }) => {
    if (order === dieAt && dieAt % 2 === 0) die();
    appendFileSync(effects, `${order}\n`);
    if (order === dieAt) die();
    return { order, receipt: 'x'.repeat(2000) };
  },
});

const code = `
  const unknown = [];
  let charged = 0;
  for (let order = 0; order < 200; order++) {
    try {
      await tools.charge({ order });
      charged++;
    } catch (error) {
      if (!error.message.includes('It was not run again')) throw error;
      unknown.push(order);
    }
  }
  return { charged, unknown };`;

const isNew = !existsSync(effects);
const model = scriptedModel([...(isNew ? [{ toolCalls: [{ name: 'run_code', arguments: { code } }] }] : []), 'Done.']);
const agent = defineAgent(withCode({ model, tools: [charge] }));
const journal = fileJournal({ folder: join(folder, 'journal') });
if (isNew) appendFileSync(effects, '');
const session = isNew ? await createSession(agent, { journal, id: 's' }) : await openSession(agent, 's', { journal });
const { messages } = await (isNew ? session.prompt('Charge all orders.') : session.resume()).result;
const last = messages.findLast((message) => message.role === 'tool');
const said = last?.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
process.stdout.write(JSON.stringify({ said, charged: readFileSync(effects, 'utf8').trim().split('\n').map(Number) }));
