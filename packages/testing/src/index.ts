export type { ScriptedBlock, ScriptedError, ScriptedToolCall, Turn } from './turns.ts';
export { DEFAULT_CHUNK_SIZE, DEFAULT_TURN_USAGE } from './turns.ts';
export type { Script, ScriptedTurn, TurnFunction } from './script.ts';
export type { ScriptedModel, ScriptedModelOptions } from './scripted-model.ts';
export { scriptedModel } from './scripted-model.ts';
export type { TestClock } from './clock.ts';
export { testClock } from './clock.ts';
export { countingIds } from './ids.ts';
export type {
  FakeProvider,
  FakeProviderOptions,
  ProviderRequest,
  ProviderTurn,
  WireFaults,
} from './provider/server.ts';
export type { Chunking } from './provider/sink.ts';
export { fakeProvider } from './provider/server.ts';
export { validateAnthropicRequest } from './provider/validate-anthropic.ts';
export { eventStreamMessage } from './provider/event-stream.ts';
export { validateBedrockRequest } from './provider/validate-bedrock.ts';
export { validateGeminiRequest } from './provider/validate-gemini.ts';
export { validateOllamaRequest } from './provider/validate-ollama.ts';
export { validateOpenAIChatRequest } from './provider/validate-openai.ts';
export { validateOpenAIResponsesRequest } from './provider/validate-responses.ts';
export type { Fetch } from './cassette/fetch.ts';
export { recordingFetch, replayingFetch } from './cassette/fetch.ts';
export type { Cassette, RecordedBody, RecordedExchange } from './cassette/format.ts';
export { parseCassette, readCassette } from './cassette/format.ts';
export type { Recording, RecordingOptions } from './cassette/record.ts';
export { recordingHttp } from './cassette/record.ts';
export type { ReplayChunking, ReplayOptions } from './cassette/replay.ts';
export { replayedModel, replayingHttp } from './cassette/replay.ts';
export type { Redaction } from './cassette/secrets.ts';
export type { ContractCase, JournalContractOptions, JournalUnderTest } from './contract/journal-case.ts';
export { journalContract } from './contract/journal.ts';
export type { BlobsUnderTest } from './contract/blobs.ts';
export { blobsContract } from './contract/blobs.ts';
export type { LedgerContractOptions, LedgerUnderTest } from './contract/ledger.ts';
export { ledgerContract } from './contract/ledger.ts';
export type { MemoryContractOptions, MemoryUnderTest } from './contract/memory.ts';
export { memoryContract } from './contract/memory.ts';
export type { CrashLife, CrashWorld } from './crash/life.ts';
export type { CrashProcess } from './crash/process.ts';
export { crashProcess } from './crash/process.ts';
export type { CrashCourse, CrashOptions, CrashReport, RandomCrashOptions, RandomCrashReport } from './crash/matrix.ts';
export { crashAtRandom, crashMatrix } from './crash/matrix.ts';
export type { CrashStore } from './crash/everything.ts';
export { everythingLife, everythingScenario } from './crash/everything.ts';
export type { DiskCall } from './disk/errors.ts';
export type { SimulatedFile, SimulatedFileSystem } from './disk/file-system.ts';
export type { DiskFailure, SimulatedDisk, SimulatedDiskOptions } from './disk/simulated-disk.ts';
export { simulatedDisk } from './disk/simulated-disk.ts';
export type { TransientMemory, TransientMemoryOptions } from './transient-memory.ts';
export { transientMemory } from './transient-memory.ts';
export { journalOf, logOf } from './log.ts';
export { longLog } from './long-log.ts';
