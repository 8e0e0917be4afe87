import { methods, RequestError } from '@agentclientprotocol/sdk';
import type { EditorFiles } from '@treadle/tools';

import type { ClientLink } from './host.ts';

/** The client's files, as far as it offers them; undefined where it offers none. */
export function clientFiles({ context, capabilities }: ClientLink, sessionId: string): EditorFiles | undefined {
  const { readTextFile = false, writeTextFile = false } = capabilities.fs ?? {};
  if (!readTextFile && !writeTextFile) return undefined;
  return {
    ...(readTextFile && {
      async read(path) {
        try {
          return (await context.request(methods.client.fs.readTextFile, { sessionId, path })).content;
        } catch (error) {
          // It doesn't have the file open, or no longer: then the disk has it.
          if (error instanceof RequestError) return null;
          throw error;
        }
      },
    }),
    ...(writeTextFile && {
      async write(path, content) {
        await context.request(methods.client.fs.writeTextFile, { sessionId, path, content });
      },
    }),
  };
}
