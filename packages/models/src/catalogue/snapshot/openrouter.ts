// Written by scripts/catalogue/generate.ts from lists that agree, among them pi-ai (MIT): see NOTICE.md.
import type { CatalogueRow } from '../row.ts';
import { snapshotRow } from './row.ts';

export const OPENROUTER_SNAPSHOT: readonly CatalogueRow[] = [
  snapshotRow('openrouter', 'amazon/nova-2-lite-v1', [1000000, 65535], 'ti', true, [0.3, 2.5, 0.0825, 0.33]),
  snapshotRow('openrouter', 'amazon/nova-lite-v1', [300000, 10000], 'ti', false, [0.06, 0.24, 0.015, 0.06]),
  snapshotRow('openrouter', 'amazon/nova-micro-v1', [128000, 10000], 't', false, [0.035, 0.14, 0.00875, 0.035]),
  snapshotRow('openrouter', 'amazon/nova-premier-v1', [1000000, null], 'ti', false, [2.5, 12.5, 0.625, null]),
  snapshotRow('openrouter', 'amazon/nova-pro-v1', [300000, 10000], 'ti', false, [0.8, 3.2, 0.2, 0.8]),
  snapshotRow('openrouter', 'meta/muse-ember', [1048576, null], 'ti', true, [0.1, 0.5, 0.004, null]),
  snapshotRow('openrouter', 'meta/muse-glimmer-30b', [131072, null], 'ti', true, []),
  snapshotRow('openrouter', 'meta/muse-spark-1.1', [1048576, null], 'ti', true, [1.25, 4.25, 0.15, null]),
  snapshotRow('openrouter', 'meta/muse-spark-1.2', [1048576, null], 'ti', true, [1.25, 4.25, 0.15, null]),
  snapshotRow('openrouter', 'meta/muse-spark-1.2-contributor', [1048576, null], 'ti', true, [0.1, 0.2, 0.002, null]),
  snapshotRow('openrouter', 'meta/muse-spark-1.3', [1048576, null], 'ti', true, [1.25, 4.25, 0.15, null]),
  snapshotRow('openrouter', 'meta/muse-spark-1.3-contributor', [1048576, null], 'ti', true, [0.1, 0.2, 0.002, null]),
  snapshotRow('openrouter', 'meta/muse-spark-open', [1048576, 131072], 'ti', true, [1.25, 4.25, 0.15, null]),
  snapshotRow('openrouter', 'minimax/minimax-m3', [524288, 512000], 'ti', true, [0.3, 1.2, 0.06, null]),
  snapshotRow('openrouter', 'minimax/minimax-m3.1-flash', [1048576, null], 'ti', true, [0.15, 0.6, 0.015, null]),
  snapshotRow('openrouter', 'qwen/qwen3.7-flash', [991000, null], 'ti', true, [0.03, 0.13, 0.006, 0.038]),
  snapshotRow('openrouter', 'qwen/qwen3.7-max', [991000, 131072], 't', true, [2.5, 7.5, 0.5, null]),
  snapshotRow('openrouter', 'qwen/qwen3.7-plus', [1000000, null], 'ti', true, []),
  snapshotRow('openrouter', 'qwen/qwen3.8-2.4t-a95b', [262144, 131072], 't', true, [2, 6, 0.25, null]),
  snapshotRow('openrouter', 'qwen/qwen3.8-27b', [262144, null], 'ti', true, []),
  snapshotRow('openrouter', 'qwen/qwen3.8-flash', [991000, null], 'ti', true, [0.15, 0.47, 0.016, null]),
  snapshotRow('openrouter', 'qwen/qwen3.8-max-0902', [991000, null], 'ti', true, [2, 6, 0.25, null]),
  snapshotRow('openrouter', 'qwen/qwen3.8-max-prime', [1000000, 131072], 'ti', true, [4, 12, 0.5, null]),
  snapshotRow('openrouter', 'qwen/qwen3.8-omni-flash', [1000000, 131072], 'ti', true, [0.15, 0.47, 0.016, null]),
];
