import type { ModelFile, ModelFiles } from '@treadle/core/model';
import type { FilesWire } from '../model.ts';
import { aboutFile, exactly, getFile, isFileId } from './files-api.ts';

/** The files of the API are a feature that each request for them names. */
const HEADERS = {
  accept: 'application/json',
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'files-api-2025-04-14',
};

/** Reads files by Anthropic's Files API: first what it says about one, then its bytes. */
export function anthropicFiles(wire: FilesWire): ModelFiles {
  return {
    async read(fileId, { signal, maxBytes }): Promise<ModelFile> {
      if (!isFileId(fileId)) throw new Error('This is not the id of a file of the Files API.');
      const what = `the file ${fileId}`;
      const asked = { signal, what };
      const about = await aboutFile(await getFile(wire, `/files/${fileId}`, HEADERS, asked), what);
      const { filename, mime_type: mediaType, size_bytes: size, downloadable } = about;
      if (typeof filename !== 'string' || typeof mediaType !== 'string' || !Number.isSafeInteger(size)) {
        throw new Error(`What the provider says about ${what} lacks its name, its type or its size.`);
      }
      const bytes = size as number;
      if (downloadable === false) throw new Error(`The provider does not give ${what} out: it was uploaded.`);
      if (bytes > maxBytes) throw new Error(`It has ${bytes} bytes, and ${maxBytes} may be kept.`);
      const { body } = await getFile(wire, `/files/${fileId}/content`, HEADERS, asked);
      return { name: filename, mediaType, size: bytes, body: exactly(body, bytes, what) };
    },
  };
}
