import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { JsonObject, Tool } from '@treadle/core';

import { openApiTools } from '../openapi-tools.ts';

interface Source {
  readonly name: string;
  readonly document: JsonObject;
}

/** A thousand tools, made of operations of GitHub, Twilio and Notion. `scripts/real-operations.ts` has written them. */
export function realTools(): readonly Tool[] {
  const packed = readFileSync(join(import.meta.dirname, 'real-operations.json.gz'));
  const sources = JSON.parse(gunzipSync(packed).toString('utf8')) as readonly Source[];
  return sources.flatMap(({ name, document }) => [
    ...openApiTools(document, { baseUrl: `https://${name}.example`, namePrefix: name }).tools,
  ]);
}
