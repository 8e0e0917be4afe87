// Written by scripts/catalogue/generate.ts from lists that agree, among them pi-ai (MIT): see NOTICE.md.
import type { CatalogueRow } from '../row.ts';
import { snapshotRow } from './row.ts';

export const TOGETHER_SNAPSHOT: readonly CatalogueRow[] = [
  snapshotRow('together', 'deepseek-ai/DeepSeek-V4-Pro-0813', [1048576, 384000], 't', true, [1.32, 3.96, null, null]),
  snapshotRow('together', 'deepseek-ai/DeepSeek-V4.1-Flash', [1048576, 384000], 'ti', true, [0.3, 1.2, 0.006, null]),
  snapshotRow('together', 'MiniMaxAI/MiniMax-M3', [524288, 512000], 'ti', true, [0.3, 1.2, 0.06, null]),
  snapshotRow('together', 'moonshotai/Kimi-K3', [1048576, 131072], 'ti', true, [3, 15, 0.3, null]),
  snapshotRow('together', 'moonshotai/Kimi-K3.1-Pro', [1048576, 131072], 'ti', true, [2, 10, 0.2, null]),
  snapshotRow('together', 'openai/gpt-oss-120b', [131072, 131072], 't', true, [0.15, 0.6, 0.075, null]),
  snapshotRow('together', 'Qwen/Qwen3.5-9B', [262144, null], 'ti', true, [0.17, 0.25, null, null]),
  snapshotRow('together', 'Qwen/Qwen3.6-Plus', [1000000, 65536], 't', true, [0.5, 3, null, null]),
  snapshotRow('together', 'Qwen/Qwen3.7-Max', [991000, 131072], 't', true, [2.5, 7.5, 0.5, null]),
  snapshotRow('together', 'reflection/Beam-1.0-501B-A23B', [1048576, null], 't', true, []),
  snapshotRow('together', 'thinkingmachines/Inkling', [524288, null], 'ti', true, [1, 4.05, 0.17, null]),
  snapshotRow('together', 'zai-org/GLM-5.2', [1048575, null], 't', true, [1.4, 4.4, 0.14, null]),
  snapshotRow('together', 'zai-org/GLM-5.3', [1048573, 262144], 't', true, [1.4, 4.4, 0.26, null]),
  snapshotRow('together', 'zai-org/GLM-5.3-Flash', [1048573, 131000], 'ti', true, [0.15, 0.5, 0.03, null]),
];
