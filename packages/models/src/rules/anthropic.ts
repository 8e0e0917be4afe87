import type { ModelFamilies, ModelFamily } from './rules.ts';

// Facts of November 2026, from Anthropic's model pages, its SDK, and the tables of other runtimes. Where two sources
// disagree, the row says what both take.

/** A current model: it decides by itself how long it thinks. */
const CURRENT: ModelFamily = {
  match: /claude-|mythos-/,
  temperature: 'never',
  forcedTool: 'never',
  formatWithTools: true,
  keepsSchemas: true,
  efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
  thinksUnasked: true,
  hidesThinking: true,
  off: 'never',
  prefill: false,
  boundThinking: true,
  deferredTools: true,
  chatTools: 'always',
};

/** From before models decided by themselves. */
const BUDGETED: ModelFamily = {
  ...CURRENT,
  temperature: 'without_thinking',
  forcedTool: 'without_thinking',
  efforts: [],
  budget: [1024, 128_000],
  thinksUnasked: false,
  hidesThinking: false,
  off: 'silence',
  prefill: true,
  boundThinking: false,
  deferredTools: false,
};

const { budget: _budget, ...UNTHINKING }: ModelFamily = {
  ...BUDGETED,
  temperature: 'always',
  forcedTool: 'always',
  keepsSchemas: false,
};

/** Claude, newest first but for the last row. */
export const CLAUDE_FAMILIES: ModelFamilies = [
  { ...CURRENT, match: /sonnet-5-5/, off: 'between_tools' },
  { ...CURRENT, match: /haiku-5-5/, forcedTool: 'without_thinking', off: 'disabled' },
  {
    ...CURRENT,
    match: /(?:opus|haiku|sonnet)-5(?!-?\d)/,
    forcedTool: 'without_thinking',
    off: 'disabled',
    boundThinking: false,
  },
  { ...CURRENT, match: /(?:fable|mythos)-5(?!-\d(?!\d))/, boundThinking: false },
  {
    ...CURRENT,
    match: /-4-[7-9](?!\d)/,
    forcedTool: 'without_thinking',
    thinksUnasked: false,
    off: 'silence',
    boundThinking: false,
  },
  { ...BUDGETED, match: /-4-6(?!\d)/, efforts: ['low', 'medium', 'high', 'max'], prefill: false, deferredTools: true },
  { ...BUDGETED, match: /claude-[a-z]+-4-[1-5](?!\d)/ },
  { ...BUDGETED, match: /claude-(?:[a-z]+-4(?:-0)?(?!-?[1-9](?!\d))|3-7)/, keepsSchemas: false },
  { ...UNTHINKING, match: /claude-(?:\d|[a-z]+-[23](?!\d)|instant|v\d)/ },
  CURRENT,
];

/** A model of somebody else's at a server of the same wire. */
const OTHER: ModelFamily = { ...BUDGETED, match: /^/, keepsSchemas: false };

/** All that the Messages API may be asked for. */
export const ANTHROPIC_FAMILIES: ModelFamilies = [...CLAUDE_FAMILIES, OTHER];
