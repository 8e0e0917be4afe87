// A server of a database whose agent talks for a long time. It prints its address.

import { serve } from '@treadle/server';
import { postgresBus, postgresJournal } from '@treadle/store/postgres';
import { talkerAgent } from './talker.ts';

const connection = process.argv[2] ?? '';
const serving = await serve({
  agents: [talkerAgent(400, 25)],
  journal: postgresJournal({ connection }),
  bus: await postgresBus({ connection }),
  tokens: [{ name: 'me', token: 'a-token-of-my-own' }],
});
console.log(serving.url);
