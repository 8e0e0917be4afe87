import type { Effort, ModelFamilies, ModelFamily } from './rules.ts';

// Facts of November 2026, from Google's guides to thinking and its SDK.

const LEVELS: readonly Effort[] = ['low', 'medium', 'high'];

/** The newest models: levels instead of budgets, and no way to switch them off. */
const NEWEST: ModelFamily = {
  match: /^/,
  temperature: 'always',
  forcedTool: 'always',
  formatWithTools: true,
  efforts: LEVELS,
  thinksUnasked: true,
  off: 'never',
  prefill: true,
  boundThinking: false,
  chatTools: 'always',
};

const BUDGETED: ModelFamily = { ...NEWEST, efforts: [], formatWithTools: false };

/** Google's models. */
export const GOOGLE_FAMILIES: ModelFamilies = [
  { ...BUDGETED, match: /gemini-(?:1|2\.0)|gemma|tunedModels/i, thinksUnasked: false, off: 'silence' },
  { ...BUDGETED, match: /gemini-2\.5-flash-lite/i, budget: [512, 24_576], thinksUnasked: false, off: 'zero' },
  { ...BUDGETED, match: /gemini-2\.5-flash/i, budget: [1, 24_576], off: 'zero' },
  { ...BUDGETED, match: /gemini-2/i, budget: [128, 32_768] },
  { ...NEWEST, match: /gemini-3-pro/i, efforts: ['low', 'high'] },
  {
    ...NEWEST,
    match: /gemini-(?:3-flash|3\.[156]-flash|(?:flash|flash-lite)-latest|robotics)/i,
    efforts: ['minimal', ...LEVELS],
  },
  { ...NEWEST, match: /gemini-4-hydrogen/i, efforts: [...LEVELS, 'xhigh'] },
  NEWEST,
];
