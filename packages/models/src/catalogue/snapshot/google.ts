// Written by scripts/catalogue/generate.ts from lists that agree, among them pi-ai (MIT): see NOTICE.md.
import type { CatalogueRow } from '../row.ts';
import { snapshotRow } from './row.ts';

export const GOOGLE_SNAPSHOT: readonly CatalogueRow[] = [
  snapshotRow('google', 'gemini-3-flash-preview', [1048576, 65536], 'tiavp', true, [0.5, 3, 0.05, null]),
  snapshotRow('google', 'gemini-3.1-flash-lite-preview', [1048576, 65536], 'tiavp', true, [0.25, 1.5, 0.025, null]),
  snapshotRow('google', 'gemini-flash-latest', [1048576, 65536], 'tiavp', true, []),
  snapshotRow('google', 'gemini-pro-latest', [1048576, null], 'tiavp', true, []),
  snapshotRow('google', 'gemma-4-26b-a4b-it', [262144, null], 'tiavp', true, []),
  snapshotRow('google', 'gemma-4-31b-it', [262144, null], 'tiavp', true, []),
];
