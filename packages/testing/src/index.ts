export type { ScriptedBlock, ScriptedError, ScriptedToolCall, Turn } from './turns.ts';
export { DEFAULT_CHUNK_SIZE, DEFAULT_TURN_USAGE } from './turns.ts';
export type { Script, ScriptedTurn, TurnFunction } from './script.ts';
export type { ScriptedModel, ScriptedModelOptions } from './scripted-model.ts';
export { scriptedModel } from './scripted-model.ts';
export type { TestClock } from './clock.ts';
export { testClock } from './clock.ts';
export { countingIds } from './ids.ts';
