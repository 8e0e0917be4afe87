// Written by scripts/catalogue/generate.ts from lists that agree, among them pi-ai (MIT): see NOTICE.md.
import type { CatalogueRow } from '../row.ts';
import { snapshotRow } from './row.ts';

export const ZAI_SNAPSHOT: readonly CatalogueRow[] = [
  snapshotRow('zai', 'glm-4.7', [202752, 131072], 't', true, [0.6, 2.2, 0.11, null]),
  snapshotRow('zai', 'glm-5-turbo', [202752, 131072], 't', true, [1.2, 4, 0.24, null]),
  snapshotRow('zai', 'glm-5.2', [1000000, 131072], 't', true, [1.4, 4.4, 0.26, null]),
  snapshotRow('zai', 'glm-5.3', [1000000, 128000], 't', true, [1.4, 4.4, 0.26, null]),
  snapshotRow('zai', 'glm-5.3-flash', [1000000, 131000], 'ti', true, [0.15, 0.5, 0.03, null]),
];
