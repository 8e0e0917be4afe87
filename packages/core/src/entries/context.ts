// How a conversation is kept within the context window: strategies and transforms.
export * from '../features/compaction/compact.ts';
export type { SummaryModelOptions } from '../features/compaction/options.ts';
export {
  CompactionError,
  type CompactionPhase,
  type CompactionStrategy,
  type PhaseContext,
  type SummaryOptions,
  type View,
} from '../features/compaction/phase.ts';
export * from '../features/compaction/recall.ts';
export type { CompactedEvent } from '../session/verbs/compact.ts';
export * from '../features/compaction/strategies.ts';
export {
  blockOverlay,
  type OverlayOptions,
  summarise,
  type SummariseOptions,
} from '../features/compaction/summary/summarise.ts';
export {
  condenseReplies,
  dropOldest,
  dropThinking,
  type KeptEnds,
  removeResults,
  truncateResults,
} from '../features/compaction/transforms.ts';
export type { Unit } from '../features/compaction/units.ts';
