import { base64Bytes, base64Of } from '../messages/base64.ts';
import type { ContentBlock, FileBlock, ImageBlock } from '../messages/content.ts';
import type { Message } from '../messages/message.ts';
import { isReference, needsBlob } from '../messages/needs-blob.ts';
import type { BlobKeeper } from '../ports/blob-keeper.ts';
import { joined } from '../ports/blobs.ts';
import type { DurableEventBody, InputMessage, SessionInput } from './events.ts';

type Large = (ImageBlock | FileBlock) & { readonly data: string };

/**
 * Blocks as they go into a log: images and files that are too big for it as references to blobs, which are kept by then.
 * The same array when there are none. What is no base64 stays as it is.
 */
export async function movedOut<Block extends ContentBlock>(
  keeper: BlobKeeper,
  blocks: readonly Block[],
): Promise<readonly Block[]> {
  if (!blocks.some((block) => isLarge(keeper, block))) return blocks;
  return Promise.all(
    blocks.map((block) => (isLarge(keeper, block) ? (moveOut(keeper, block) as Promise<Block>) : block)),
  );
}

const isLarge = ({ inlineLength }: BlobKeeper, block: ContentBlock): block is Large =>
  (block.type === 'image' || block.type === 'file') && block.data !== undefined && block.data.length > inlineLength;

async function moveOut({ store, maxBytes }: BlobKeeper, block: Large): Promise<ImageBlock | FileBlock> {
  const { data, ...rest } = block;
  const bytes = base64Bytes(data);
  return bytes ? { ...rest, blob: await store.put(joined(bytes), { maxBytes }) } : block;
}

/** An input as it goes into a log. */
export async function inputMovedOut(keeper: BlobKeeper, input: SessionInput): Promise<SessionInput> {
  const message = async (given: InputMessage): Promise<InputMessage> => ({
    ...given,
    content: await movedOut(keeper, given.content),
  });
  switch (input.type) {
    case 'prompt':
      return { ...input, messages: await Promise.all(input.messages.map(message)) };
    case 'steering':
    case 'follow_up':
      return { ...input, message: await message(input.message) };
    case 'client_tool_results': {
      const results = input.results.map(async (result) => {
        const { content } = result;
        return typeof content === 'string' ? result : { ...result, content: await movedOut(keeper, content) };
      });
      return { ...input, results: await Promise.all(results) };
    }
    case 'import':
      return { ...input, messages: await Promise.all(input.messages.map((each) => messageMovedOut(keeper, each))) };
    default:
      return input;
  }
}

async function messageMovedOut(keeper: BlobKeeper, message: Message): Promise<Message> {
  if (message.role === 'extension') return message;
  const content = await movedOut<ContentBlock>(keeper, message.content);
  return content === message.content ? message : ({ ...message, content } as Message);
}

/** Events as they go into a log: what a model drew is kept as blobs. */
export const eventsMovedOut = (keeper: BlobKeeper, events: readonly DurableEventBody[]): Promise<DurableEventBody[]> =>
  Promise.all(
    events.map(async (event) => {
      if (event.type !== 'message_added') return event;
      const message = await messageMovedOut(keeper, event.message);
      return message === event.message ? event : { ...event, message };
    }),
  );

/** Reads a blob whole, or rejects. */
export type ReadWhole = (id: string) => Promise<Uint8Array>;

/**
 * A message as models get it: with its images and files in it. What can't be read is replaced by a text that says so, and
 * `lost` is told.
 */
export async function withBlobs<Said extends Message>(
  message: Said,
  read: ReadWhole,
  lost: (id: string, error: unknown) => void,
): Promise<Said> {
  if (message.role === 'extension' || !needsBlob(message)) return message;
  const content = await Promise.all(
    (message.content as readonly ContentBlock[]).map(async (block): Promise<ContentBlock> => {
      if (!isReference(block)) return block;
      const { blob, ...rest } = block;
      try {
        return { ...rest, data: base64Of(await read(blob.id)) };
      } catch (error) {
        lost(blob.id, error);
        const what = block.type === 'file' && block.name !== undefined ? `${block.type} ${block.name}` : block.type;
        return { type: 'text', text: `[The ${what} (${block.mediaType}) that was here can't be read any more.]` };
      }
    }),
  );
  return { ...message, content };
}
