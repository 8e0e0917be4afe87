export type { ContextOptions, ContextPolicy, SummaryModelOptions } from './options.ts';
export type { CompactionPhase, CompactionStrategy, PhaseContext, SummaryOptions, View } from './phase.ts';
export { CompactionError } from './phase.ts';
export type { Unit } from './units.ts';
export { compactView, type Compaction, type CompactionInput } from './compact.ts';
export { estimateMessage, estimateText } from '../../messages/estimate.ts';
export { estimateMessages } from '../../messages/estimate-frame.ts';
export type { LogReader } from '../../journal/history.ts';
export { recallTool } from './recall.ts';
export * from './strategies.ts';
export { blockOverlay, summarise, type OverlayOptions, type SummariseOptions } from './summary/summarise.ts';
export {
  condenseReplies,
  dropOldest,
  dropThinking,
  removeResults,
  truncateResults,
  type KeptEnds,
} from './transforms.ts';
export type { TextLimits } from '../../messages/cut.ts';
