import { crashProcess, everythingLife } from '@treadle/testing';
import { openStore, type StoreAt } from './stores.ts';

await crashProcess({ open: async (input) => openStore(input as StoreAt), live: everythingLife });
