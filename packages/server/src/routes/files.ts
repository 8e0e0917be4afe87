import { TreadleError, type Blobs } from '@treadle/core';
import { isBlobId } from '@treadle/core/ports';
import { piecesOf, tooLarge } from '../json-body.ts';
import { RequestError } from '../problem.ts';
import { jsonResponse, type RouteCall, type Route } from './serving/route.ts';

function blobsOf({ parts }: RouteCall): Blobs {
  if (parts.blobs) return parts.blobs;
  throw new RequestError('not_found', 'This server keeps no files.');
}

export const FILE_ROUTES: readonly Route[] = [
  {
    method: 'post',
    path: '/v1/files',
    id: 'uploadFile',
    summary: 'Keeps a file. Its id is the hash of its bytes.',
    bodyType: 'application/octet-stream',
    success: { status: 201, description: 'Its id and its size in bytes.' },
    problems: ['too_large'],
    async handle(call) {
      const blobs = blobsOf(call);
      const { uploadBytes } = call.parts.limits;
      const announced = call.request.headers.get('content-length');
      if (announced !== null && Number(announced) > uploadBytes) throw tooLarge(uploadBytes);
      try {
        return jsonResponse(await blobs.put(piecesOf(call.request), { maxBytes: uploadBytes }), 201);
      } catch (error) {
        if (error instanceof TreadleError && error.code === 'blob_too_large') throw tooLarge(uploadBytes);
        throw error;
      }
    },
  },
  {
    method: 'get',
    path: '/v1/files/{fileId}',
    id: 'downloadFile',
    summary: 'Reads a file. It is never shown as a page: what it is, nobody has checked.',
    success: { status: 200, description: 'Its bytes.', contentType: 'application/octet-stream' },
    problems: ['blob_not_found'],
    async handle(call) {
      const blobs = blobsOf(call);
      const id = call.path['fileId'] ?? '';
      const size = isBlobId(id) ? await blobs.size(id) : null;
      if (size === null) throw new RequestError('not_found', 'There is no such file.');
      return new Response(ReadableStream.from(copied(blobs.read(id))), {
        headers: {
          'content-type': 'application/octet-stream',
          'content-length': String(size),
          'content-disposition': 'attachment',
          'x-content-type-options': 'nosniff',
          'content-security-policy': "default-src 'none'; sandbox",
          'cache-control': 'private, max-age=31536000, immutable',
        },
      });
    },
  },
];

/** A piece may be reused by its giver. */
async function* copied(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield piece.slice();
}
