// Written by scripts/catalogue/generate.ts from lists that agree, among them pi-ai (MIT): see NOTICE.md.
import type { CatalogueRow } from '../row.ts';
import { snapshotRow } from './row.ts';

export const FIREWORKS_SNAPSHOT: readonly CatalogueRow[] = [
  snapshotRow('fireworks', 'accounts/fireworks/models/deepseek-v4p1-flash', [1048576, 384000], 'ti', true, [
    0.3,
    1.2,
    0.006,
    null,
  ]),
  snapshotRow('fireworks', 'accounts/fireworks/models/deepseek-v4p1-flash-1017', [1048576, 262144], 'ti', true, [
    0.3,
    1.2,
    0.007,
    null,
  ]),
  snapshotRow('fireworks', 'accounts/fireworks/models/ember-1', [1048576, null], 'ti', true, [3, 15, 0.3, null]),
  snapshotRow('fireworks', 'accounts/fireworks/models/minimax-m3', [512000, 512000], 't', true, [0.3, 1.2, 0.06, null]),
  snapshotRow('fireworks', 'accounts/fireworks/models/minimax-m3p1-flash', [1048576, null], 'ti', true, [
    0.15,
    0.6,
    0.015,
    null,
  ]),
  snapshotRow('fireworks', 'accounts/fireworks/models/muse-spark-open', [1048576, 131072], 'ti', true, [
    1.25,
    4.25,
    0.15,
    null,
  ]),
  snapshotRow('fireworks', 'accounts/fireworks/models/qwen3p8-2p4t-a95b', [262144, 131072], 't', true, [
    2,
    6,
    0.25,
    null,
  ]),
  snapshotRow('fireworks', 'accounts/fireworks/models/qwen3p8-max', [262144, null], 'ti', true, [2, 6, 0.25, null]),
  snapshotRow('fireworks', 'accounts/fireworks/routers/kimi-latest', [1048576, 131072], 'ti', true, []),
  snapshotRow('fireworks', 'accounts/fireworks/models/glm-5p3', [1048573, 262144], 't', true, [1.4, 4.4, 0.26, null]),
  snapshotRow('fireworks', 'accounts/fireworks/models/glm-5p3-flash', [1048573, 131000], 'ti', true, [
    0.15,
    0.5,
    0.03,
    null,
  ]),
  snapshotRow('fireworks', 'accounts/fireworks/models/kimi-k3', [1048576, 131072], 'ti', true, [3, 15, 0.3, null]),
  snapshotRow('fireworks', 'accounts/fireworks/models/kimi-k3p1-pro', [1048576, 131072], 'ti', true, [
    2,
    10,
    0.2,
    null,
  ]),
  snapshotRow('fireworks', 'accounts/fireworks/routers/glm-5p3-fast', [1048572, 262144], 't', true, [
    2.1,
    6.6,
    0.21,
    null,
  ]),
  snapshotRow('fireworks', 'accounts/fireworks/routers/glm-flash-latest', [1048573, 131072], 'ti', true, []),
  snapshotRow('fireworks', 'accounts/fireworks/routers/glm-latest', [1048573, null], 't', true, []),
  snapshotRow('fireworks', 'accounts/fireworks/routers/kimi-k3-fast', [null, 131072], 'ti', true, [
    4.5,
    22.5,
    0.45,
    null,
  ]),
];
