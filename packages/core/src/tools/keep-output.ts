import type { BlobRef } from '../ports/blobs.ts';
import type { BlobKeeper } from '../ports/blob-keeper.ts';
import { movedOut } from '../events/move-out.ts';
import { errorText } from '../errors.ts';
import type { TextBlock } from '../messages/content.ts';
import { capped, cutText, normalOutput, type KeptWhole, type NormalOutput } from './output.ts';
import type { ToolStream } from './tool.ts';
import { isToolStream, readStream } from './tool-stream.ts';

/** What keeping an output takes. */
export interface OutputKeeping {
  readonly maxLength: number;
  /** Null where nothing is kept but what the model reads. */
  readonly keeper: BlobKeeper | null;
  /** Whether the model has the tool that reads what was cut out. */
  readonly canRecall: boolean;
  /** True once nobody waits for the output any more. */
  readonly stopped: () => boolean;
}

/** True for an output that `normalOutput` is enough for. */
export const isPlain = (output: unknown, keeper: BlobKeeper | null): boolean =>
  keeper === null && !isToolStream(output);

/**
 * A tool's output as the log gets it: too long a text with its middle cut out, and where there are blobs, the whole of it
 * and what is too big for a log as blobs. Rejects only when a tool's own stream fails.
 */
export async function keptOutput(output: unknown, keeping: OutputKeeping): Promise<NormalOutput> {
  const { maxLength, keeper } = keeping;
  if (isToolStream(output)) return streamed(output, keeping);
  if (keeper === null) return normalOutput(output, maxLength);
  const all = normalOutput(output, Number.POSITIVE_INFINITY);
  const length = all.content.reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0);
  const wholes = new Map<TextBlock, KeptWhole>();
  for (const block of length > maxLength ? all.content : []) {
    if (block.type === 'text' && block.text !== '') wholes.set(block, await whole(keeper, block.text, keeping));
  }
  try {
    return {
      ...all,
      content: await movedOut(keeper, capped(all.content, maxLength, wholes)),
      ...(all.files ? { files: await movedOut(keeper, all.files) } : {}),
    };
  } catch (error) {
    // They stay in the log: better a big event than no result.
    const note = { type: 'text' as const, text: `[What is large was not kept apart: ${errorText(error)}]` };
    return { ...all, content: [...capped(all.content, maxLength, wholes), note] };
  }
}

async function whole({ store, maxBytes }: BlobKeeper, text: string, keeping: OutputKeeping): Promise<KeptWhole> {
  try {
    const ref = await store.put(new TextEncoder().encode(text), { maxBytes });
    return { whole: ref, note: keptNote(ref, text.length, keeping) };
  } catch (error) {
    return { note: lostNote(errorText(error)) };
  }
}

const keptNote = ({ id }: BlobRef, characters: number, { canRecall }: OutputKeeping): string =>
  `; all ${characters} are kept${canRecall ? `: read them with recall, handle ${id}` : ` as the blob ${id}`}`;
const lostNote = (problem: string): string => `; they could not be kept: ${problem}`;

async function streamed(stream: ToolStream, keeping: OutputKeeping): Promise<NormalOutput> {
  const {
    head,
    tail,
    cut,
    characters,
    whole: ref,
    problem,
  } = await readStream(stream, keeping.maxLength, keeping.keeper, keeping.stopped);
  if (cut === 0) return { content: [{ type: 'text', text: (head + tail).toWellFormed() }], isError: false };
  const note = ref ? keptNote(ref, characters, keeping) : problem === undefined ? '' : lostNote(problem);
  const text = cutText(head, cut, tail, note);
  const block: TextBlock = { type: 'text', text, ...(ref ? { whole: ref } : {}) };
  return { content: [block], isError: false };
}
