import type { ModelFile, ModelFiles } from '@treadle/core/model';
import type { HttpResponse } from '@treadle/core/ports';
import type { FilesWire } from '../model.ts';
import { aboutFile, exactly, getFile, isFileId } from './files-api.ts';

const HEADERS = { accept: 'application/json' };
const CONTENT_HEADERS = { accept: '*/*' };

/** What the API doesn't say about a file, and its name does. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  webp: 'image/webp',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  zip: 'application/zip',
};

/**
 * Reads the files of the containers in which the provider runs code, by `containers/{container}/files/{file}`. The id of
 * one is both: `{container}/{file}`.
 */
export function openaiContainerFiles(wire: FilesWire): ModelFiles {
  return {
    async read(id, { signal, maxBytes }): Promise<ModelFile> {
      const [container = '', file = '', ...others] = id.split('/');
      if (!isFileId(container) || !isFileId(file) || others.length > 0) {
        throw new Error('This is not the id of a file in a container.');
      }
      const what = `the file ${file} of the container ${container}`;
      const path = `/containers/${container}/files/${file}`;
      const { path: place, bytes } = await aboutFile(await getFile(wire, path, HEADERS, { signal, what }), what);
      const name = typeof place === 'string' ? (place.split('/').at(-1) ?? '') : '';
      if (name === '') throw new Error(`What the provider says about ${what} lacks its path.`);
      const refuse = (size: number): void => {
        if (size > maxBytes) throw new Error(`It has ${size} bytes, and ${maxBytes} may be kept.`);
      };
      if (isSize(bytes)) refuse(bytes);
      const content = await getFile(wire, `${path}/content`, CONTENT_HEADERS, { signal, what });
      const size = isSize(bytes) ? bytes : Number(content.headers['content-length'] ?? Number.NaN);
      if (!isSize(size)) throw new Error(`The provider doesn't say how large ${what} is.`);
      refuse(size);
      return { name, mediaType: mediaTypeOf(name, content), size, body: exactly(content.body, size, what) };
    },
  };
}

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** By the name's ending, for the API gives out most files as mere bytes. */
function mediaTypeOf(name: string, { headers }: HttpResponse): string {
  const ending = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  const said = headers['content-type']?.split(';')[0]?.trim() ?? '';
  return MEDIA_TYPES[ending] ?? (/^[\w.+-]+\/[\w.+-]+$/.test(said) ? said : 'application/octet-stream');
}
