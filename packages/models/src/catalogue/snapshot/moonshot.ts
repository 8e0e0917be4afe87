// Written by scripts/catalogue/generate.ts from lists that agree, among them pi-ai (MIT): see NOTICE.md.
import type { CatalogueRow } from '../row.ts';
import { snapshotRow } from './row.ts';

export const MOONSHOT_SNAPSHOT: readonly CatalogueRow[] = [
  snapshotRow('moonshot', 'kimi-k2.6', [262000, 262000], 'ti', true, [0.95, 4, 0.16, null]),
  snapshotRow('moonshot', 'kimi-k2.7-code', [262144, null], 'ti', true, [0.95, 4, 0.19, null]),
  snapshotRow('moonshot', 'kimi-k2.7-code-highspeed', [262144, null], 'ti', true, [1.9, 8, 0.38, null]),
  snapshotRow('moonshot', 'kimi-k3', [1048576, 131072], 'ti', true, [3, 15, 0.3, null]),
  snapshotRow('moonshot', 'kimi-k3.1-pro', [1048576, 131072], 'ti', true, [2, 10, 0.2, null]),
  snapshotRow('moonshot', 'kimi-k3.1-pro-highspeed', [1048576, null], 'ti', true, [4, 20, 0.2, null]),
];
