/** Each provider's key, and the model that it selects. */
export const DEFAULTS = [
  { provider: 'anthropic', title: 'Anthropic', key: 'ANTHROPIC_API_KEY', model: 'anthropic/claude-sonnet-5-5' },
  { provider: 'openai', title: 'OpenAI', key: 'OPENAI_API_KEY', model: 'openai/gpt-6.1-sol' },
] as const;

/** The models that a key selects, such as `anthropic/claude-sonnet-5-5`. */
export const DEFAULT_MODELS: readonly string[] = DEFAULTS.map(({ model }) => model);

/** The model that needs neither a key nor a network. */
const DEMO_MODEL = 'demo/demo-1';

export interface ModelChoice {
  /** `provider/model`. */
  readonly name: string;
  /** Why, in words for the user; null when the user named the model on this command line. */
  readonly reason: string | null;
  /** Nothing names a model, and there is no key: it is the demo model. */
  readonly isUnset?: true;
}

/**
 * `--model`, else `TREADLE_MODEL`, else the one that was chosen at the login, else the model of the first provider that has a
 * key, else the demo model.
 *
 * @param chosen what `treadle login` keeps
 */
export function chooseModel(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  chosen: string | null = null,
): ModelChoice {
  if (flag !== undefined) return { name: flag, reason: null };
  const fromEnvironment = env['TREADLE_MODEL'];
  if (fromEnvironment) return { name: fromEnvironment, reason: 'from TREADLE_MODEL' };
  if (chosen !== null && chosen !== 'demo') return { name: chosen, reason: 'chosen with treadle login' };
  const found = DEFAULTS.find(({ key }) => env[key]);
  if (found) return { name: found.model, reason: `there is an ${found.key}; --model chooses another` };
  if (chosen !== null)
    return { name: DEMO_MODEL, reason: 'scripted replies to a few prompts; treadle login adds a key' };
  return {
    name: DEMO_MODEL,
    isUnset: true,
    reason: `scripted replies to a few prompts, because there is no ${DEFAULTS.map(({ key }) => key).join(' or ')}; treadle login adds one`,
  };
}
