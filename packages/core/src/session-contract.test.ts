import { sessionContract } from '@treadle/testing';
import { describe, it } from 'vitest';
import { memoryJournal } from './index.ts';

describe('a session in memory', () => {
  for (const { name, run } of sessionContract(() => ({ journal: memoryJournal() }))) it(name, run);
});
