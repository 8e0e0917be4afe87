import type { BlobKeeper } from '../../ports/blob-keeper.ts';
import type { DurableEvent } from '../../events/events.ts';
import type { FileIntent, ToolContext } from '../../tools/tool.ts';
import type { PerformContext } from '../../kernel/context.ts';

interface CallPlace {
  readonly runId: string;
  readonly turnIndex: number;
  readonly callId: string;
}

/** What a call journals before it changes a file. Null where nothing keeps what the file held. */
export function checkpointer(context: PerformContext, place: CallPlace): ToolContext['checkpoint'] | null {
  const { blobs } = context;
  return blobs ? (intent) => checkpoint(context, blobs, place, intent) : null;
}

async function checkpoint(
  { log, clock }: PerformContext,
  blobs: BlobKeeper,
  place: CallPlace,
  { root, path, before, after }: FileIntent,
): Promise<void> {
  const key = `${root}\0${path}`;
  for (;;) {
    const since = blobs.checkpointed;
    const isKnown = since.has(key);
    const held = isKnown ? {} : { before: before === null ? null : await blobs.store.put(before()) };
    await log.record([{ type: 'file_checkpointed', at: clock.now(), ...place, root, path, ...held, after }]);
    // Somebody said something in between: what the file holds now is what it held before that.
    if (blobs.checkpointed !== since && isKnown) continue;
    since.add(key);
    return;
  }
}

/** Every message begins a stretch of its own, to whose beginning files can go back. */
export function noteInput(blobs: BlobKeeper, event: DurableEvent): void {
  if (event.type === 'input_received' && SAID.has(event.input.type)) blobs.checkpointed = new Set();
}

const SAID: ReadonlySet<string> = new Set(['prompt', 'steering', 'follow_up', 'import']);
