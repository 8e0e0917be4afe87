// Runs scripts in a thread, so that one which computes for ever can be ended by ending the thread, and so that nobody waits
// for it meanwhile. Imports only what resolves by file name: a worker does not get the import conditions of its process.
import { parentPort } from 'node:worker_threads';
import { newQuickJSWASMModuleFromVariant } from 'quickjs-emscripten-core';
import { runScript, type Script, type ScriptLimits } from './script.ts';

/** A question to the worker. The answer is a `ScriptOutcome`. */
export interface WorkerScript {
  readonly script: Script;
  readonly limits: ScriptLimits;
}

const engine = newQuickJSWASMModuleFromVariant(import('@jitl/quickjs-wasmfile-release-sync'));

// What the engine throws when it fails in itself ends the thread.
async function answer({ script, limits }: WorkerScript): Promise<void> {
  parentPort?.postMessage(runScript(await engine, script, limits, () => performance.now()));
}

parentPort?.on('message', (question: WorkerScript) => void answer(question));
