import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import type { Http } from '@treadle/core';
import { rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';

/** The wire of each entry that has one, by the name of its folder. */
const WIRES: Readonly<Record<string, string | readonly string[]>> = {
  anthropic: 'anthropic',
  bedrock: 'bedrock',
  google: 'gemini',
  ollama: 'ollama',
  'openai-chat': 'openai-chat',
  'openai-responses': 'openai-responses',
  vertex: ['anthropic', 'gemini'],
};

/** Entries that have a transport, and no wire. */
const TRANSPORTS = ['fetch', 'undici', 'wire'];

/** The files of this package that importing an entry loads, and whatever else isn't Node's or core's. */
function loadedBy(entry: string): { readonly own: readonly string[]; readonly foreign: readonly string[] } {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import('@treadle/models/${entry}');
    console.log(JSON.stringify(loaded));`;
  const flags = ['--conditions=treadle-source', '--input-type=module', '-e', script];
  const urls = JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' })) as string[];
  const files = urls.filter((url) => url.startsWith('file:'));
  const isOwn = (url: string): boolean => url.includes('/packages/models/src/');
  return {
    own: files.filter(isOwn).map((url) => url.slice(url.indexOf('/src/') + 5)),
    foreign: files.filter((url) => !isOwn(url) && !url.includes('/packages/core/src/')),
  };
}

it('has an entry for each wire, which this test knows', async () => {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  const { exports } = JSON.parse(text) as { readonly exports: Readonly<Record<string, unknown>> };
  const entries = Object.keys(exports).map((name) => name.replace(/^\.\/?/, ''));
  expect(entries.toSorted()).toEqual(['', 'ai-sdk', 'catalogue', ...TRANSPORTS, ...Object.keys(WIRES)].toSorted());
});

/** What a bundle for browsers and Workers would still import, and what else it would ask of Node. */
async function bundled(entry: string): Promise<{ readonly imports: readonly string[]; readonly code: string }> {
  const problems: string[] = [];
  const build = await rolldown({
    input: fileURLToPath(new URL(`${entry}.ts`, import.meta.url)),
    platform: 'browser',
    resolve: { conditionNames: ['treadle-source', 'browser', 'import'] },
    treeshake: { moduleSideEffects: false },
    onLog: (_, { message }) => problems.push(message),
  });
  const { output } = await build.generate({ format: 'esm' });
  await build.close();
  const chunks = output.filter((file) => file.type === 'chunk');
  const own = new Set(chunks.map(({ fileName }) => fileName));
  const imports = chunks
    .flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports])
    .filter((name) => !own.has(name));
  return { imports: [...imports, ...problems], code: chunks.map(({ code }) => code).join('\n') };
}

describe('a bundle for browsers and Workers', () => {
  it('of the entry fetch has nothing of Node, and asks its own fetch', async () => {
    const { imports, code } = await bundled('fetch');
    expect(imports).toEqual([]);
    expect(code).not.toMatch(/node:|\bprocess\b|\bBuffer\b|require\(/);
    // What a Worker has: no `process`, no `Buffer`, no modules.
    const globals = { AbortController, AbortSignal, TextEncoder, URL, Uint8Array, setTimeout, clearTimeout, Response };
    const asked: string[] = [];
    const fetch = async (url: string): Promise<Response> => {
      asked.push(url);
      return new Response('from the Worker’s fetch');
    };
    const exported = code.replace(/export \{ fetchHttp \};?/, 'globalThis.fetchHttp = fetchHttp;');
    const context = createContext({ ...globals, fetch });
    runInContext(exported, context);
    const { fetchHttp } = context as unknown as { readonly fetchHttp: () => Http };
    const { body } = await fetchHttp()({ method: 'GET', url: 'https://a.example/', headers: {} });
    let text = '';
    for await (const chunk of body) text += new TextDecoder().decode(chunk);
    expect([text, asked]).toEqual(['from the Worker’s fetch', ['https://a.example/']]);
  });

  it.each(['anthropic', 'google', 'ollama', 'openai-chat', 'openai-responses'])(
    'of the entry %s imports nothing of Node',
    async (entry) => {
      expect((await bundled(entry)).imports).toEqual([]);
    },
  );
});

describe.each([...Object.keys(WIRES), ...TRANSPORTS, 'catalogue'])('importing %s', (entry) => {
  it('loads no other protocol, no cloud library, and no code but ours', () => {
    const { own, foreign } = loadedBy(entry);
    const wire = WIRES[entry];
    const wireFile = /^protocols\/([^/]+)\/(?:en|de)code\.ts$/;
    const protocols = new Set(own.flatMap((file) => wireFile.exec(file)?.[1] ?? []));
    expect([...protocols].toSorted()).toEqual(wire === undefined ? [] : [wire].flat());
    expect(foreign).toEqual([]);
  });
});

/** SDKs of model vendors, and the frameworks that bring them along. */
const VENDOR_SDK =
  /^(?:openai|ai|ollama|groq-sdk|cohere-ai|together-ai|replicate|langchain|llamaindex|@(?:anthropic-ai|ai-sdk|mistralai|cerebras|langchain|llamaindex|openrouter|fireworks-ai|perplexity-ai|huggingface)\/.+|@google\/(?:generative-ai|genai)|@google-cloud\/(?:vertexai|aiplatform)|@aws-sdk\/client-bedrock.*|@azure\/openai|@azure-rest\/ai-.*)$/;

it('has no vendor’s model SDK anywhere among the dependencies', async () => {
  const root = new URL('../../../', import.meta.url);
  const lock = JSON.parse(await readFile(new URL('package-lock.json', root), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: true }>>;
  };
  const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 13);
  expect(Object.keys(lock.packages).map(nameOf)).toContain('google-auth-library');
  // Tests of the server read its streams with the AI SDK's own client, which nobody who installs a package gets.
  const shipped = Object.entries(lock.packages).filter(([, { dev }]) => dev !== true);
  expect(shipped.map(([path]) => nameOf(path)).filter((name) => VENDOR_SDK.test(name))).toEqual([]);
  const require = createRequire(import.meta.url);
  const folders = require.resolve.paths('openai') ?? [];
  for (const name of ['openai', '@anthropic-ai/sdk', '@google/genai', '@aws-sdk/client-bedrock-runtime'])
    for (const folder of folders) expect(existsSync(`${folder}/${name}`), `${folder}/${name}`).toBe(false);
});
