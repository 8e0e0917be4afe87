import type { CataloguePrice, CatalogueRow, TokenPrices } from './row.ts';

/** A model that a cloud or a gateway serves, by its maker's name. */
interface Hosted {
  readonly provider: string;
  readonly id: string;
  /** What the host charges, as a share of the maker's price; null when that isn't known. */
  readonly factor: number | null;
}

/** Requests that stay in a region cost a tenth more than those that may go anywhere. */
const REGIONAL = 1.1;

const BEDROCK = /^(?:(global|us|eu|au|apac|jp|in|ca|us-gov)\.)?(anthropic|openai|xai)\.(.+?)(?:-v\d+(?::\d+)?)?$/;

const bedrock = (id: string): Hosted | undefined => {
  const [, region, provider, name] = BEDROCK.exec(id) ?? [];
  if (provider === undefined || name === undefined) return undefined;
  return { provider, id: name, factor: region === undefined ? null : region === 'global' ? 1 : REGIONAL };
};

const MAKERS: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  google: 'google',
  'x-ai': 'xai',
  mistralai: 'mistral',
  deepseek: 'deepseek',
  moonshotai: 'moonshot',
  'z-ai': 'zai',
};

const openrouter = (id: string): Hosted | undefined => {
  const slash = id.indexOf('/');
  const provider = MAKERS[id.slice(0, slash)];
  // A variant such as `:free` costs something else.
  if (provider === undefined || id.includes(':')) return undefined;
  const name = id.slice(slash + 1);
  return { provider, id: provider === 'anthropic' ? name.replaceAll('.', '-') : name, factor: 1 };
};

const vertex = (id: string): Hosted | undefined => {
  const provider = id.startsWith('claude-') ? 'anthropic' : id.startsWith('gemini-') ? 'google' : undefined;
  return provider === undefined ? undefined : { provider, id, factor: 1 };
};

const HOSTS: Readonly<Record<string, (id: string) => Hosted | undefined>> = {
  bedrock,
  openrouter,
  vertex,
  azure: (id) => ({ provider: 'openai', id, factor: 1 }),
  // Another wire to the same models.
  'openai-responses': (id) => ({ provider: 'openai', id, factor: 1 }),
  'openai-chat': (id) => ({ provider: 'openai', id, factor: 1 }),
};

/** The maker's name of a model that this provider hosts; undefined for a provider that hosts none. */
export const hostedModel = (provider: string, modelId: string): Hosted | undefined => HOSTS[provider]?.(modelId);

const PRICES = ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h'] as const;

/** To a billionth of a dollar, so that no price has the noise of binary fractions. */
const times = <Prices extends TokenPrices>(prices: Prices, factor: number): Prices => ({
  ...prices,
  ...Object.fromEntries(
    PRICES.flatMap((name) => {
      const price = prices[name];
      return price === undefined ? [] : [[name, Math.round(price * factor * 1e9) / 1e9]];
    }),
  ),
});

const priceTimes = (price: CataloguePrice, factor: number): CataloguePrice => ({
  ...times(price, factor),
  ...(price.tiers && { tiers: price.tiers.map((tier) => times(tier, factor)) }),
});

/** A maker's row as a host has it. */
export function hostedRow(row: CatalogueRow, provider: string, id: string, factor: number | null): CatalogueRow {
  const { prices, aliases: _aliases, retires: _retires, ...facts } = row;
  if (factor === null || prices === undefined) return { ...facts, provider, id };
  return { ...facts, provider, id, prices: factor === 1 ? prices : prices.map((price) => priceTimes(price, factor)) };
}
