// Written by scripts/catalogue/generate.ts from lists that agree, among them pi-ai (MIT): see NOTICE.md.
import type { CatalogueRow } from '../row.ts';
import { snapshotRow } from './row.ts';

export const MISTRAL_SNAPSHOT: readonly CatalogueRow[] = [
  snapshotRow('mistral', 'codestral-2508', [256000, null], 't', false, [0.3, 0.9, 0.03, null]),
  snapshotRow('mistral', 'deepseek-v4-1-flash-1017', [1048576, 262144], 't', true, [0.3, 1.2, 0.007, null]),
  snapshotRow('mistral', 'devstral-2512', [262144, null], 't', false, [0.4, 2, 0.04, null]),
  snapshotRow('mistral', 'glm-5-2', [1048575, null], 't', true, [1.4, 4.4, 0.14, null]),
  snapshotRow('mistral', 'ministral-14b-2512', [262144, null], 'ti', false, [0.2, 0.2, 0.02, null]),
  snapshotRow('mistral', 'ministral-3b-2512', [131072, null], 'ti', false, [0.1, 0.1, 0.01, null]),
  snapshotRow('mistral', 'ministral-8b-2512', [262144, null], 'ti', false, [0.15, 0.15, 0.015, null]),
  snapshotRow('mistral', 'mistral-small-2603', [262144, null], 'ti', true, [0.15, 0.6, 0.015, null]),
];
