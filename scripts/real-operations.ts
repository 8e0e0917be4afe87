// Writes the thousand operations that the tests of tool search use, from the packages below, unpacked by `npm pack` and `tar`
// into folders of one place: `node scripts/real-operations.ts FOLDER`. All three are under the MIT licence.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { gzipSync } from 'node:zlib';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

const SOURCES = [
  // 779 of GitHub's 1,223 operations, spread evenly, make a thousand with all of the others.
  { name: 'github', source: '@octokit/openapi@23.0.2', file: 'generated/api.github.com.json', most: 779 },
  {
    name: 'twilio',
    source: '@twilio/cli-core@9.0.0',
    file: 'src/services/twilio-api/twilio_api_v2010.json',
    most: 197,
  },
  { name: 'notion', source: '@notionhq/notion-mcp-server@2.5.2', file: 'scripts/notion-openapi.json', most: 24 },
] as const;

const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'patch', 'head']);
/** What no tool is made of. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'responses',
  'examples',
  'example',
  'externalDocs',
  'callbacks',
  'servers',
]);

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function trimmed(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => trimmed(item));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(
    // A property may have such a name, and is then a schema with a type.
    ([key, inner]) =>
      !key.startsWith('x-') && (!LEFT_OUT.has(key) || (isObject(inner) && typeof inner['type'] === 'string')),
  );
  return Object.fromEntries(kept.map(([key, inner]) => [key, trimmed(inner)]));
}

/** The parts of a document that something refers to, and what those refer to. */
function referred(document: JsonObject, from: Json, into: Map<string, Json>): void {
  for (const [, pointer = ''] of JSON.stringify(from).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)) {
    if (into.has(pointer)) continue;
    const [kind = '', name = ''] = pointer.split('/');
    const kinds = document['components'];
    const parts = isObject(kinds) ? kinds[kind] : undefined;
    const part = trimmed((isObject(parts) ? parts[name] : undefined) ?? {});
    into.set(pointer, part);
    referred(document, part, into);
  }
}

function reduced(document: JsonObject, most: number): JsonObject {
  const paths = document['paths'];
  if (!isObject(paths)) throw new Error('The document has no paths.');
  const all = Object.entries(paths).flatMap(([path, item]) =>
    isObject(item) ? Object.keys(item).flatMap((method) => (METHODS.has(method) ? [{ path, method, item }] : [])) : [],
  );
  const chosen = all.filter(
    (_, index) => Math.floor(((index + 1) * most) / all.length) > Math.floor((index * most) / all.length),
  );
  const kept: Record<string, Record<string, Json>> = {};
  for (const { path, method, item } of chosen) {
    const shared = item['parameters'];
    const into = (kept[path] ??= shared === undefined ? {} : { parameters: trimmed(shared) });
    into[method] = trimmed(item[method] ?? {});
  }
  const parts = new Map<string, Json>();
  referred(document, kept, parts);
  const components: Record<string, Record<string, Json>> = {};
  for (const [pointer, part] of parts) {
    const [kind = '', name = ''] = pointer.split('/');
    (components[kind] ??= {})[name] = part;
  }
  return { openapi: document['openapi'] ?? '3.0.3', info: trimmed(document['info'] ?? {}), paths: kept, components };
}

const [, , folder = '.'] = process.argv;
const documents = SOURCES.map(({ name, source, file, most }) => {
  const place = join(folder, source.slice(0, source.lastIndexOf('@')), file);
  return { name, source, document: reduced(JSON.parse(readFileSync(place, 'utf8')) as JsonObject, most) };
});
const target = join(import.meta.dirname, '../packages/openapi/src/test-support/real-operations.json.gz');
writeFileSync(target, gzipSync(JSON.stringify(documents), { level: 9 }));
