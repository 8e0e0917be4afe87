// Written by scripts/catalogue/generate.ts from lists that agree, among them pi-ai (MIT): see NOTICE.md.
import type { CatalogueRow } from '../row.ts';
import { snapshotRow } from './row.ts';

export const GROQ_SNAPSHOT: readonly CatalogueRow[] = [
  snapshotRow('groq', 'openai/gpt-oss-safeguard-20b', [131072, 65536], 't', true, [0.075, 0.3, 0.0375, null]),
];
