// The command line with its sessions in another journal than its own: JSON in the variable `TREADLE_TEST_JOURNAL` says which.
import { fileJournal } from '@treadle/store';
import { postgresJournal } from '@treadle/store/postgres';

import { DEFAULT_PARTS } from '../cli/parts.ts';
import { runProcess } from '../cli/process.ts';

const { folder, ...postgres } = JSON.parse(process.env['TREADLE_TEST_JOURNAL'] ?? '') as {
  readonly folder?: string;
  readonly connection: string;
  readonly schema: string;
};
await runProcess({
  ...DEFAULT_PARTS,
  journal: async () => (folder === undefined ? postgresJournal(postgres) : fileJournal({ folder })),
});
