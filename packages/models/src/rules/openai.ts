import type { Effort, ModelFamilies, ModelFamily } from './rules.ts';

// Facts of November 2026, from OpenAI's guides and SDK, its deprecations page, and reports of refusals.

const TO_HIGH: readonly Effort[] = ['low', 'medium', 'high'];
const TO_XHIGH: readonly Effort[] = [...TO_HIGH, 'xhigh'];
const TO_MAX: readonly Effort[] = [...TO_XHIGH, 'max'];

/** The newest models: they always think, and Chat Completions takes no tools of them. */
const NEWEST: ModelFamily = {
  match: /^/,
  temperature: 'never',
  forcedTool: 'always',
  formatWithTools: true,
  efforts: TO_XHIGH,
  thinksUnasked: true,
  off: 'never',
  prefill: true,
  boundThinking: false,
  chatTools: 'never',
};

const SWITCHABLE: ModelFamily = {
  ...NEWEST,
  temperature: 'without_thinking',
  off: 'none',
  chatTools: 'without_thinking',
};

/** From GPT-5.4 on. */
const SEARCHING: ModelFamily = { ...SWITCHABLE, deferredTools: true };

/** It doesn't think at all. */
const PLAIN: ModelFamily = {
  ...NEWEST,
  temperature: 'always',
  efforts: [],
  thinksUnasked: false,
  off: 'silence',
  chatTools: 'always',
};

const NAMED = (pattern: string): RegExp => new RegExp(`(?:^|[/.:])(?:${pattern})`);

/** OpenAI's models. */
export const OPENAI_FAMILIES: ModelFamilies = [
  { ...PLAIN, match: NAMED('gpt-(?:35|[34])(?!\\d)|chatgpt|gpt-5[\\w.]*-chat|ft:gpt-[34]') },
  { ...NEWEST, match: NAMED('gpt-oss'), temperature: 'always', efforts: TO_HIGH, chatTools: 'always' },
  { ...NEWEST, match: NAMED('o\\d'), efforts: TO_HIGH, chatTools: 'always' },
  { ...NEWEST, match: NAMED('gpt-5-pro'), efforts: ['high'], chatTools: 'always' },
  { ...NEWEST, match: NAMED('gpt-5\\.[2-5]-pro'), efforts: ['medium', 'high', 'xhigh'] },
  { ...NEWEST, match: NAMED('gpt-5\\.3-codex-spark'), chatTools: 'always' },
  { ...NEWEST, match: NAMED('gpt-5-codex|codex|computer-use'), efforts: TO_HIGH, chatTools: 'always' },
  { ...NEWEST, match: NAMED('gpt-5(?![.\\d])'), efforts: ['minimal', ...TO_HIGH], chatTools: 'always' },
  { ...SWITCHABLE, match: NAMED('gpt-5\\.1(?!\\d)'), efforts: TO_HIGH, thinksUnasked: false, chatTools: 'always' },
  { ...SWITCHABLE, match: NAMED('gpt-5\\.(?:[23]|4-(?:mini|nano))(?!\\d)'), thinksUnasked: false, chatTools: 'always' },
  { ...SEARCHING, match: NAMED('gpt-5\\.4(?!\\d)'), thinksUnasked: false, chatTools: 'unless_asked' },
  { ...SEARCHING, match: NAMED('gpt-5\\.5(?!\\d)') },
  { ...SEARCHING, match: NAMED('gpt-5\\.6(?!\\d)|gpt-6-(?:sol|luna)|gpt-6\\.1-terra|gpt-daybreak'), efforts: TO_MAX },
  { ...NEWEST, match: NAMED('gpt-6-astra|gpt-6\\.1-sol'), efforts: TO_MAX, deferredTools: true },
  { ...NEWEST, deferredTools: true },
];

/** Whether a model's name is one that OpenAI gives. */
export const isOpenAIName = (modelId: string): boolean =>
  NAMED('gpt-\\d|o\\d(?:$|[-.])|chatgpt|codex|computer-use|ft:|chat-latest|gpt-daybreak').test(modelId);
