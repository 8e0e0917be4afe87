import { errorText } from '../../errors.ts';
import type { GeneratedFile } from '../../events/generated-files.ts';
import type { BlobKeeper } from '../../ports/blob-keeper.ts';
import type { ModelFiles } from '../../model/files.ts';
import { runOf, type PerformContext } from '../../kernel/context.ts';
import type { SeenFile } from '../../kernel/folds.ts';
import type { Step } from '../../kernel/step.ts';

/** Milliseconds that the files of a run may take to fetch, all of them together. */
const FETCHING_TIMEOUT_MS = 5 * 60_000;
/** Characters of an error that the log keeps. */
const LONGEST_ERROR = 500;

/**
 * Fetches files from their provider, keeps them as blobs and records what came of each. What fails is in the event; the
 * run ends as it would have. When the process dies before the event is written they are fetched again, and kept once.
 */
export async function keepFiles(
  context: PerformContext,
  { files: due }: Extract<Step, { type: 'keep_files' }>,
): Promise<void> {
  const { clock, interrupt, log, state, blobs } = context;
  if (blobs === null) return;
  const { runId } = runOf(state);
  const stopped = new AbortController();
  const stop = (why: string): void => stopped.abort(new Error(why));
  const cancel = clock.after(FETCHING_TIMEOUT_MS, () => {
    stop(`The files of the run took longer than ${FETCHING_TIMEOUT_MS / 60_000} minutes.`);
  });
  const forget = interrupt.on(() => stop('The run was stopped before it was fetched.'));
  try {
    const files: GeneratedFile[] = [];
    for (const seen of due) files.push(await generatedFile(context, blobs, seen, stopped.signal));
    // A fact, and no plan: what has come in meanwhile changes nothing of it.
    await log.record([{ type: 'files_generated', at: clock.now(), runId, backend: blobs.store.backend, files }]);
  } finally {
    cancel();
    forget();
  }
}

async function generatedFile(
  { agent, state }: PerformContext,
  blobs: BlobKeeper,
  { fileId, provider, firstTurn, lastTurn }: SeenFile,
  signal: AbortSignal,
): Promise<GeneratedFile> {
  const seen = { fileId, provider, firstTurn, lastTurn };
  const kept = state.keptFiles?.find((file) => file.fileId === fileId && file.provider === provider);
  if (kept) return { ...kept, ...seen, isUpdate: true };
  const files = agent.models.find((model) => model.provider === provider && model.files)?.files;
  const facts: { name?: string; mediaType?: string } = {};
  try {
    if (!files) throw new Error(`No model of ${provider} reads files.`);
    const blob = await unless(signal, () => fetched(files, blobs, fileId, signal, facts));
    return { ...seen, ...facts, blob, isUpdate: false };
  } catch (error) {
    return { ...seen, ...facts, isUpdate: false, error: errorText(error).slice(0, LONGEST_ERROR) };
  }
}

async function fetched(
  files: ModelFiles,
  { store, maxBytes }: BlobKeeper,
  fileId: string,
  signal: AbortSignal,
  facts: { name?: string; mediaType?: string },
): ReturnType<BlobKeeper['store']['put']> {
  const file = await files.read(fileId, { signal, maxBytes });
  facts.name = file.name;
  facts.mediaType = file.mediaType;
  return store.put(file.body, { maxBytes });
}

/** What the work comes to, unless the signal is first: what doesn't listen to it must not hold up the end of a run. */
function unless<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  const { promise: left, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  const done = signal.aborted ? left : Promise.race([work(), left]);
  return done.finally(() => signal.removeEventListener('abort', leave));
}
