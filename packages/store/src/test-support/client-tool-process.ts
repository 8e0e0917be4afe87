import { crashProcess } from '@treadle/testing';
import { clientToolLife } from './client-tool-run.ts';
import { openStore, type StoreAt } from './stores.ts';

await crashProcess({ open: async (input) => openStore(input as StoreAt), live: clientToolLife });
