import { parseJson } from '@treadle/core/json';
import { readFileSync } from 'node:fs';

/** The version of this package. */
export function version(): string {
  // Two folders up, from `src/cli` as from `dist/cli`.
  const manifest = parseJson(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
