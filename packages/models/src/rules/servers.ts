import type { ModelFamilies, ModelFamily } from './rules.ts';

// Facts of November 2026, from each provider's documentation and the tables of other runtimes.

/** A model nobody knows: it is asked for what most take, and nothing is held back. */
const UNKNOWN: ModelFamily = {
  match: /^/,
  temperature: 'always',
  forcedTool: 'always',
  formatWithTools: true,
  efforts: ['low', 'medium', 'high'],
  thinksUnasked: false,
  off: 'silence',
  prefill: true,
  boundThinking: false,
  chatTools: 'always',
};

/** Where no effort is taken. */
const SWITCHED: ModelFamily = { ...UNKNOWN, efforts: [] };

/** It always thinks. */
const ALWAYS: ModelFamily = { ...UNKNOWN, thinksUnasked: true, off: 'never' };

export const UNKNOWN_FAMILIES: ModelFamilies = [UNKNOWN];

/** A gateway, which translates efforts to what each of its models takes. */
export const GATEWAY_FAMILIES: ModelFamilies = [
  { ...UNKNOWN, efforts: ['minimal', 'low', 'medium', 'high', 'xhigh'], off: 'none' },
];

export const XAI_FAMILIES: ModelFamilies = [
  { ...UNKNOWN, match: /grok-(?:[123]|4\.3)/, off: 'none', efforts: ['low', 'medium', 'high', 'xhigh'] },
  { ...ALWAYS, efforts: ['low', 'medium', 'high', 'xhigh'] },
];

export const DEEPSEEK_FAMILIES: ModelFamilies = [
  { ...UNKNOWN, match: /pro/, efforts: ['high', 'max'] },
  { ...UNKNOWN, efforts: ['low', 'high', 'max'] },
];

export const MOONSHOT_FAMILIES: ModelFamilies = [
  { ...SWITCHED, match: /kimi-k2|moonshot-v1/, off: 'disabled' },
  { ...ALWAYS, temperature: 'never', efforts: ['low', 'high', 'max'], thinkingSwitch: 'none' },
];

export const ZAI_FAMILIES: ModelFamilies = [
  { ...SWITCHED, match: /glm-(?:4|5(?:$|[^.\d]|\.[01]))/, off: 'disabled' },
  { ...UNKNOWN, match: /glm-5\.2/, efforts: ['high', 'max'] },
  { ...ALWAYS, efforts: ['low', 'high', 'max'], thinkingSwitch: 'none' },
];

export const MISTRAL_FAMILIES: ModelFamilies = [
  { ...UNKNOWN, match: /medium|small|magistral|leanstral/, efforts: ['high'], off: 'none' },
  { ...SWITCHED, match: /mistral-large-(?:2|latest)|ministral|codestral|devstral|pixtral|nemo|open-/ },
  { ...ALWAYS },
];

export const ALIBABA_FAMILIES: ModelFamilies = [
  { ...ALWAYS, match: /qwen3\.8/, efforts: ['low', 'medium', 'xhigh'], thinkingSwitch: 'none' },
  { ...SWITCHED, off: 'disabled' },
];
