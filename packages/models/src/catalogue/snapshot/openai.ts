// Written by scripts/catalogue/generate.ts from lists that agree, among them pi-ai (MIT): see NOTICE.md.
import type { CatalogueRow } from '../row.ts';
import { snapshotRow } from './row.ts';

export const OPENAI_SNAPSHOT: readonly CatalogueRow[] = [
  snapshotRow('openai', 'gpt-4', [8191, null], 't', false, [30, 60, null, null], '2026-10-23'),
  snapshotRow('openai', 'gpt-4o-2024-08-06', [128000, 16384], 'ti', false, [2.5, 10, 1.25, null]),
  snapshotRow('openai', 'gpt-4o-2024-11-20', [128000, 16384], 'ti', false, [2.5, 10, 1.25, null]),
  snapshotRow('openai', 'gpt-5-pro', [400000, 128000], 'ti', true, [15, 120, null, null], '2026-12-11'),
  snapshotRow('openai', 'gpt-5.2-pro', [400000, 128000], 'ti', true, [21, 168, null, null]),
  snapshotRow('openai', 'gpt-5.3-codex', [400000, 128000], 'ti', true, [1.75, 14, 0.175, null]),
  snapshotRow('openai', 'gpt-5.4-pro', [1050000, 128000], 'ti', true, [30, 180, null, null]),
  snapshotRow('openai', 'gpt-5.5-pro', [1050000, 128000], 'ti', true, [30, 180, null, null]),
  snapshotRow('openai', 'o1', [200000, 100000], 'ti', true, [15, 60, 7.5, null], '2026-10-23'),
  snapshotRow('openai', 'o3-mini', [200000, 100000], 't', true, [1.1, 4.4, 0.55, null], '2026-10-23'),
  snapshotRow('openai', 'o3-pro', [200000, 100000], 'ti', true, [20, 80, null, null], '2026-12-11'),
];
