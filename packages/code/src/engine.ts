import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { systemClock } from '@treadle/core';
import type { Script, ScriptLimits, ScriptOutcome } from './script.ts';
import type { WorkerScript } from './script-worker.ts';

/** Milliseconds after its own limit at which a script is ended from outside: most end by themselves. */
const GRACE_MS = 1000;

/** What a thread may use besides the script's own memory, and its stack, in MB. */
const RESOURCES = { maxOldGenerationSizeMb: 256, stackSizeMb: 16 };

/** A thread that has run a script and waits for another. It doesn't keep the process alive. */
let idle: Worker | undefined;

function takeWorker(): Worker {
  const worker = idle;
  idle = undefined;
  if (worker) {
    worker.ref();
    return worker;
  }
  // Sources run as they are, and built files have another ending.
  const file = import.meta.url.endsWith('.ts') ? './script-worker.ts' : './script-worker.js';
  // Nothing of this process's environment is the script's business.
  const made = new Worker(new URL(file, import.meta.url), { env: {}, execArgv: [], resourceLimits: RESOURCES });
  // Whoever waits for an answer hears of an error. One without a script is simply gone.
  made.on('error', () => {});
  made.once('exit', () => {
    if (idle === made) idle = undefined;
  });
  return made;
}

function giveBack(worker: Worker): void {
  if (idle) return void worker.terminate();
  worker.unref();
  idle = worker;
}

/** Runs a script in a thread, which ends with it when it takes too long or `signal` is aborted. Never rejects. */
export async function runInThread(script: Script, limits: ScriptLimits, signal: AbortSignal): Promise<ScriptOutcome> {
  const late = new AbortController();
  const cancel = systemClock.after(limits.timeoutMs + GRACE_MS, () => late.abort());
  const over = new AbortController();
  const until = AbortSignal.any([signal, late.signal, over.signal]);
  const worker = takeWorker();
  const exited = once(worker, 'exit', { signal: until }).then(() => {
    throw new Error('its thread ended.');
  });
  worker.postMessage({ script, limits } satisfies WorkerScript);
  try {
    const [outcome] = (await Promise.race([once(worker, 'message', { signal: until }), exited])) as [ScriptOutcome];
    giveBack(worker);
    return outcome;
  } catch (error) {
    void worker.terminate();
    const why = error instanceof Error ? error.message : String(error);
    const problem = late.signal.aborted
      ? `The script was interrupted: it computed for more than ${limits.timeoutMs} ms.`
      : `The script used too much memory or too deep a stack, or its engine failed: ${why}`;
    return { type: 'failed', problem, output: '' };
  } finally {
    exited.catch(() => {});
    cancel();
    over.abort();
  }
}
