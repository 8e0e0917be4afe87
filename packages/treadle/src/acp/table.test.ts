// The tables of docs/acp.md. After a change of them: npx vitest packages/treadle/src/acp/table -u

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { schemaMethods, schemaUpdates } from '../test-support/acp-schema.ts';
import { acpTables, FROM_AGENT, FROM_CLIENT, UPDATES } from '../test-support/acp-table.ts';

const page = join(import.meta.dirname, '../../../../docs/acp.md');
const HEADING = '## What is supported\n\n';

it('the tables have every method and every update of the schemas', () => {
  expect(Object.keys({ ...FROM_CLIENT, ...FROM_AGENT }).toSorted()).toEqual(schemaMethods.toSorted());
  expect(Object.keys(UPDATES).toSorted()).toEqual(schemaUpdates.toSorted());
});

it('docs/acp.md has the tables', async () => {
  const text = readFileSync(page, 'utf8');
  const [before = '', after = ''] = text.split(HEADING);
  const rest = after.slice(after.indexOf('\n## '));
  await expect(`${before}${HEADING}${acpTables()}${rest}`).toMatchFileSnapshot(page);
});
