// @module-tag slow
import { describe, expect, it } from 'vitest';
import { ANTHROPIC_FAMILIES } from './rules/anthropic.ts';
import { GOOGLE_FAMILIES } from './rules/google.ts';
import { OPENAI_FAMILIES } from './rules/openai.ts';
import { familyOf, type ModelFamilies, type ModelFamily } from './rules/rules.ts';
import {
  ALIBABA_FAMILIES,
  DEEPSEEK_FAMILIES,
  MISTRAL_FAMILIES,
  MOONSHOT_FAMILIES,
  XAI_FAMILIES,
  ZAI_FAMILIES,
} from './rules/servers.ts';
import { failures } from './test-support/service/cells.ts';
import { SERVICE_MODELS } from './test-support/service/models.ts';

it.each(SERVICE_MODELS.map((service) => [service.name, service] as const))(
  'every task of %s succeeds',
  async (_, service) => {
    expect(await failures(service)).toEqual({});
  },
);

const TABLES: readonly (readonly [string, ModelFamilies])[] = [
  ['anthropic', ANTHROPIC_FAMILIES],
  ['openai', OPENAI_FAMILIES],
  ['google', GOOGLE_FAMILIES],
  ['xai', XAI_FAMILIES],
  ['deepseek', DEEPSEEK_FAMILIES],
  ['moonshot', MOONSHOT_FAMILIES],
  ['zai', ZAI_FAMILIES],
  ['mistral', MISTRAL_FAMILIES],
  ['alibaba', ALIBABA_FAMILIES],
];

/** What a rule says where there is none. The tasks defer no tools. */
const NONE: Required<Omit<ModelFamily, 'match' | 'budget' | 'thinkingSwitch' | 'deferredTools'>> &
  Record<'budget' | 'thinkingSwitch', undefined> = {
  budget: undefined,
  thinkingSwitch: undefined,
  temperature: 'always',
  forcedTool: 'always',
  formatWithTools: true,
  keepsSchemas: true,
  efforts: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  thinksUnasked: false,
  hidesThinking: false,
  off: 'silence',
  prefill: true,
  boundThinking: false,
  chatTools: 'always',
};

/** The cells that a rule can turn red. */
const CELLS_OF: Readonly<Record<keyof typeof NONE, readonly string[]>> = {
  budget: ['budget'],
  thinkingSwitch: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'off'],
  temperature: ['temperature', 'temperature, high'],
  forcedTool: ['forced', 'forced, high', 'any JSON'],
  formatWithTools: ['format', 'structured'],
  keepsSchemas: ['format'],
  efforts: ['minimal', 'low', 'max', 'xhigh', 'medium', 'high'],
  thinksUnasked: ['forced', 'temperature'],
  hidesThinking: ['shown'],
  off: ['off', 'high'],
  prefill: ['prefill'],
  boundThinking: ['50 turns'],
  chatTools: ['by chat'],
};

/** A rule that says what others depend on, where none does. */
const isIdle = (family: ModelFamily, field: keyof typeof NONE): boolean =>
  isUnused(family, field) ||
  // Where it doesn't think unasked, and where the field is sent for its other content.
  (field === 'hidesThinking' && (!family.thinksUnasked || family.boundThinking));

const isUnused = ({ thinksUnasked, temperature, forcedTool, off }: ModelFamily, field: keyof typeof NONE): boolean =>
  (field === 'thinksUnasked' && temperature !== 'without_thinking' && forcedTool !== 'without_thinking') ||
  // What doesn't think unasked is switched off by silence, too.
  (field === 'off' && !thinksUnasked && (off === 'none' || off === 'zero'));

const rules = TABLES.flatMap(([maker, families]) =>
  families.flatMap((family) => {
    const services = SERVICE_MODELS.filter(({ name }) => {
      const [provider = '', ...id] = name.split('/');
      return provider === maker && familyOf(families, id.join('/')) === family;
    });
    const fields = Object.keys(NONE) as (keyof typeof NONE)[];
    return fields.flatMap((field) =>
      services.length === 0 || family[field] === undefined || family[field] === NONE[field] || isIdle(family, field)
        ? []
        : [{ title: `${maker} ${family.match.source}: ${field}`, family, field, services }],
    );
  }),
);

describe('without its rule a task fails', () => {
  it.each(rules)('$title', async ({ family, field, services }) => {
    const kept = family[field];
    Object.assign(family, { [field]: NONE[field] });
    try {
      const found = await Promise.all(services.map((service) => failures(service, CELLS_OF[field])));
      expect(found.some((cells) => Object.keys(cells).length > 0)).toBe(true);
    } finally {
      Object.assign(family, { [field]: kept });
    }
  });
});
