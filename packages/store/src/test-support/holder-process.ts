import { createSession, defineAgent } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { openStore, type StoreAt } from './stores.ts';

// Drives a session, says so once its model was asked, and waits for it until it is killed.
const at = JSON.parse(process.argv[2] ?? '') as StoreAt;
const model = scriptedModel([
  () => {
    process.stdout.write('holds it\n');
    return { text: 'Never said.', wait: new Promise<never>(() => {}) };
  },
]);
const session = await createSession(defineAgent({ model }), {
  journal: openStore(at),
  id: 's',
  owner: `the process ${process.pid}`,
});
setInterval(() => {}, 1000);
await session.prompt('Go.').result;
