import { readBlob } from '../../ports/blobs.ts';
import { withBlobs } from '../../events/move-out.ts';
import { needsBlob } from '../../messages/needs-blob.ts';
import { errorText } from '../../errors.ts';
import type { ModelMessage } from '../../messages/message.ts';
import type { ModelRequest } from '../../model/model.ts';
import type { PerformContext } from '../context.ts';

/** A request with its images and files in it. What can't be read is left out, and said. */
export async function requestWithBlobs(context: PerformContext, request: ModelRequest): Promise<ModelRequest> {
  const sent = context.blobs?.sent;
  const messages = request.messages.map((message) => {
    const known = sent?.get(message);
    if (known) return known;
    if (needsBlob(message)) return whole(context, message);
    sent?.set(message, message);
    return message;
  });
  return { ...request, messages: await Promise.all(messages) };
}

async function whole(context: PerformContext, message: ModelMessage): Promise<ModelMessage> {
  const { blobs } = context;
  let complete = true;
  const read = (id: string): Promise<Uint8Array> =>
    blobs ? readBlob(blobs.store, id) : Promise.reject(new Error('this session was opened without its blobs'));
  const filled = await withBlobs(message, read, (id, error) => {
    complete = false;
    warnOfBlob(context, `The blob ${id} of message ${message.id} can't be read: ${errorText(error)}`);
  });
  // What could not be read may be there the next time.
  if (complete) blobs?.sent.set(message, filled);
  return filled;
}

export const warnOfBlob = ({ emit, state }: PerformContext, message: string): void =>
  emit({ type: 'warning', afterSeq: state.seq, code: 'blob_failed', message });
