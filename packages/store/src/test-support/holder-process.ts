import { openStore, type StoreAt } from './stores.ts';

// Claims a session, says so, and holds it until it is killed.
const at = JSON.parse(process.argv[2] ?? '') as StoreAt;
const journal = openStore(at);
await journal.claim('s', { id: 'holder', label: `the process ${process.pid}` });
process.stdout.write('holds it\n');
setInterval(() => {}, 1000);
