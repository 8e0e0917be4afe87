// Writes the snapshot of the catalogue: `npm run catalogue -- PI_AI FACTS.json`.
//
// PI_AI is the unpacked npm package `@earendil-works/pi-ai`; FACTS.json is a list of facts with the number of sources of
// each. A fact gets into the snapshot when two lists agree on it. What the curated rows of
// `packages/models/src/catalogue/rows` already have is left to them; differences are printed. Without arguments only
// `packages/models/catalogue.json` is written anew, from the rows as they are.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CATALOGUE, CATALOGUE_DATE, writeCatalogue, type CatalogueRow } from '@treadle/models/catalogue';
import { format, resolveConfig } from 'prettier';

const ROOT = join(import.meta.dirname, '../..');
const SNAPSHOT = join(ROOT, 'packages/models/src/catalogue/snapshot');

/** Providers by their names in the lists. */
const PROVIDERS: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  google: 'google',
  xai: 'xai',
  groq: 'groq',
  mistral: 'mistral',
  moonshotai: 'moonshot',
  zai: 'zai',
  fireworks: 'fireworks',
  together: 'together',
  'amazon-bedrock': 'bedrock',
  openrouter: 'openrouter',
};

/** Lists that are read from an API of their own, and so count as another source. */
const HOSTS = [
  'openrouter',
  'amazon-bedrock',
  'together',
  'fireworks',
  'mistral',
  'vercel-ai-gateway',
  'groq',
  'baseten',
];

interface Listed {
  readonly id: string;
  readonly contextWindow: number;
  readonly maxTokens: number;
  readonly input: readonly string[];
  readonly reasoning: boolean;
  readonly cost: Readonly<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite', number>>;
}

interface Fact {
  readonly provider: string;
  readonly id: string;
  readonly contextWindow: unknown;
  readonly maxOutput: unknown;
  readonly price: Readonly<Record<string, unknown>> | null | string;
  readonly input?: readonly string[];
  readonly reasoning?: boolean;
  readonly confirmed: Readonly<Record<string, unknown>>;
  readonly shutdown?: { readonly date: string };
}

type Lists = ReadonlyMap<string, ReadonlyMap<string, Listed>>;

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

function readLists(folder: string): Lists {
  const data = join(folder, 'dist/providers/data');
  return new Map(
    readdirSync(data).map((file) => {
      const byApi = readJson(join(data, file)) as Readonly<Record<string, Readonly<Record<string, Listed>>>>;
      const models = Object.values(byApi).flatMap((byName) => Object.values(byName));
      return [file.replace('.json', ''), new Map(models.map((model) => [model.id, model]))];
    }),
  );
}

/** A name without its maker, region, version and punctuation: the same for one model on every list. */
const canonical = (id: string): string =>
  id
    .toLowerCase()
    .replace(/^.*\//, '')
    .replace(/^(?:global|us|eu|au|apac|jp|in|ca|us-gov)\./, '')
    .replace(/^[a-z]+\.(?=[a-z])/, '')
    .replace(/-v\d+(?::\d+)?$/, '')
    .replace(/(?<=\d)p(?=\d)/g, '-')
    .replaceAll('.', '-');

/** The same number on two lists; sizes may differ by rounding, and the smaller one is safe. */
function agreed(values: readonly number[], isSize: boolean): number | null {
  for (const [index, value] of values.entries()) {
    if (!(value > 0)) continue;
    const equal = values
      .slice(index + 1)
      .filter((other) => (isSize ? Math.abs(other - value) <= value / 100 : other === value));
    if (equal.length > 0) return Math.min(value, ...equal);
  }
  return null;
}

/** A fact that its own list confirms twice counts as two. */
const confirmed = ({ confirmed: counts }: Fact, name: string, value: unknown): number[] =>
  typeof value !== 'number' ? [] : Number(counts[name]) >= 2 ? [value, value] : [value];

function rowOf(fact: Fact, listed: Listed | undefined, lists: Lists): string | null {
  const provider = PROVIDERS[fact.provider] ?? '';
  const name = canonical(fact.id);
  const others = HOSTS.filter((host) => host !== fact.provider).flatMap((host) =>
    [...(lists.get(host)?.values() ?? [])].filter(({ id }) => canonical(id) === name),
  );
  // The facts were partly read from the list itself: its own value must not count twice.
  const own = (key: string, value: unknown, again: number | undefined): number[] => {
    const values = confirmed(fact, key, value);
    return values.length > 0 || again === undefined ? values : [again];
  };
  const price = typeof fact.price === 'object' && fact.price !== null ? fact.price : {};
  const sizes = [
    agreed(
      [...own('contextWindow', fact.contextWindow, listed?.contextWindow), ...others.map((m) => m.contextWindow)],
      true,
    ),
    agreed([...own('maxOutput', fact.maxOutput, listed?.maxTokens), ...others.map((m) => m.maxTokens)], true),
  ];
  const prices = (['input', 'output', 'cacheRead', 'cacheWrite'] as const).map((key) =>
    agreed([...own(key, price[key], listed?.cost[key]), ...others.map(({ cost }) => cost[key])], false),
  );
  // A price that lacks half of itself can't say what a call costs.
  const known = prices[0] !== null && prices[1] !== null ? prices : [];
  if (sizes.every((size) => size === null) && known.length === 0) return null;
  const input = fact.input ?? listed?.input ?? ['text'];
  const letters = ['text', 'image', 'audio', 'video', 'pdf']
    .filter((kind) => input.includes(kind))
    .map((kind) => kind[0]);
  const retires = /^\d{4}-\d{2}-\d{2}/.exec(fact.shutdown?.date ?? '')?.[0];
  const parts = [
    `'${provider}'`,
    `'${fact.id}'`,
    JSON.stringify(sizes),
    `'${letters.join('')}'`,
    String(fact.reasoning ?? listed?.reasoning ?? false),
    JSON.stringify(known),
    ...(retires === undefined ? [] : [`'${retires}'`]),
  ];
  return `  snapshotRow(${parts.join(', ')}),`;
}

/** What the curated rows say otherwise. */
function differences(row: CatalogueRow, fact: Fact): string[] {
  const found: string[] = [];
  const compare = (what: string, ours: number | undefined, theirs: unknown, count: unknown): void => {
    if (ours !== undefined && typeof theirs === 'number' && Number(count) >= 2 && ours !== theirs)
      found.push(`${row.provider}/${fact.id}: ${what} is ${ours} here and ${theirs} there`);
  };
  compare('contextWindow', row.contextWindow, fact.contextWindow, fact.confirmed['contextWindow']);
  compare('outputLimit', row.outputLimit, fact.maxOutput, fact.confirmed['maxOutput']);
  return found;
}

/** Hosts serve models of these makers under names that lead to the makers' rows. */
const HOSTED =
  /^(?:(?:global|us|eu|au|apac|jp|in|ca|us-gov)\.)?(?:anthropic|openai|xai)\.|^(?:~|anthropic\/|openai\/|google\/|x-ai\/|mistralai\/|deepseek\/|moonshotai\/|z-ai\/)/;

async function writeSnapshot(pi: string, factsFile: string): Promise<void> {
  const lists = readLists(pi);
  const { rows: facts } = readJson(factsFile) as { readonly rows: readonly Fact[] };
  const curated = CATALOGUE.filter(({ limits }) => !limits?.source.includes('NOTICE.md'));
  const names = new Map(
    curated.flatMap((row) => [row.id, ...(row.aliases ?? [])].map((id) => [`${row.provider}/${id}`, row])),
  );
  const byProvider = new Map<string, string[]>();
  for (const fact of facts) {
    const provider = PROVIDERS[fact.provider];
    if (provider === undefined) continue;
    const known = names.get(`${provider}/${fact.id}`);
    if (known) for (const difference of differences(known, fact)) console.log(difference);
    const isHosted = (provider === 'bedrock' || provider === 'openrouter') && HOSTED.test(fact.id);
    if (known || isHosted || /-\d{8}$/.test(fact.id)) continue;
    const row = rowOf(fact, lists.get(fact.provider)?.get(fact.id), lists);
    if (row !== null) byProvider.set(provider, [...(byProvider.get(provider) ?? []), row]);
  }
  mkdirSync(SNAPSHOT, { recursive: true });
  for (const file of readdirSync(SNAPSHOT)) if (file !== 'row.ts') rmSync(join(SNAPSHOT, file));
  const config = (await resolveConfig(join(SNAPSHOT, 'row.ts'))) ?? {};
  for (const [provider, rows] of byProvider) {
    const text = `// Written by scripts/catalogue/generate.ts from lists that agree, among them pi-ai (MIT): see NOTICE.md.
import type { CatalogueRow } from '../row.ts';
import { snapshotRow } from './row.ts';

export const ${provider.toUpperCase()}_SNAPSHOT: readonly CatalogueRow[] = [
${rows.join('\n')}
];
`;
    writeFileSync(join(SNAPSHOT, `${provider}.ts`), await format(text, { ...config, parser: 'typescript' }));
    console.log(`${provider}: ${rows.length} rows`);
  }
}

const [pi, facts] = process.argv.slice(2);
if (pi !== undefined && facts !== undefined) await writeSnapshot(pi, facts);
else {
  writeFileSync(
    join(ROOT, 'packages/models/catalogue.json'),
    writeCatalogue({ date: CATALOGUE_DATE, rows: CATALOGUE }),
  );
}
