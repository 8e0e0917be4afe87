import type { ContentBlock, FileBlock, ImageBlock } from './content.ts';
import type { Message } from './message.ts';

/** True when a request with this message needs a blob. */
export const needsBlob = (message: Message): boolean =>
  message.role !== 'extension' && (message.content as readonly ContentBlock[]).some(isReference);

export const isReference = (block: ContentBlock): block is (ImageBlock | FileBlock) & { readonly blob: BlobOf } =>
  (block.type === 'image' || block.type === 'file') && block.blob !== undefined;

type BlobOf = NonNullable<ImageBlock['blob']>;
