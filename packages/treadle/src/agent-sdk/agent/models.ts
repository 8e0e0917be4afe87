import type { Model } from '@treadle/core';
import type { ModelRequest, ModelStream, Thinking } from '@treadle/core/model';

import { chooseModel } from '../../cli/run/choose-model.ts';
import { UsageError } from '../../cli/usage-error.ts';
import type { Arguments } from '../arguments.ts';

/** Short names of models, and the family that each is of. */
const FAMILIES = ['opus', 'sonnet', 'haiku', 'fable'] as const;

/** The newest model of each family, by the catalogue: `sonnet` is `anthropic/claude-sonnet-…`. */
async function newestOf(family: string): Promise<string | null> {
  const { CATALOGUE } = await import('@treadle/models');
  const names = CATALOGUE.filter(({ provider, id }) => provider === 'anthropic' && id.startsWith(`claude-${family}-`));
  const versions = names.map(({ id }) => id).filter((id) => /^claude-[a-z]+-[\d-]+$/.test(id) && !/\d{8}/.test(id));
  const newest = versions.toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true }))[0];
  return newest === undefined ? null : `anthropic/${newest}`;
}

/** The name of a model here, `provider/model`, for a name that a client gives. Undefined is the model of the environment. */
export async function modelName(
  name: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (name === undefined || name === '' || name === 'default' || name === 'inherit')
    return chooseModel(env['ANTHROPIC_MODEL'] === undefined ? undefined : ownModelName(env['ANTHROPIC_MODEL']), env)
      .name;
  if (FAMILIES.some((family) => family === name)) {
    const newest = await newestOf(name);
    if (newest === null) throw new UsageError(`There is no model of the family ${name} in the catalogue.`);
    return newest;
  }
  return ownModelName(name);
}

/** Clients know one provider. A context window in brackets, as in `sonnet[1m]`, is the model's own business here. */
function ownModelName(name: string): string {
  const plain = name.replace(/\[[^\]]*\]$/, '');
  return plain.includes('/') || plain === 'demo' ? plain : `anthropic/${plain}`;
}

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

/** How much the model is to think; undefined for the model's own. @throws UsageError for what can't be understood. */
export function thinkingOf(args: Arguments): Thinking | undefined {
  const given = args.text('max-thinking-tokens');
  if (given !== undefined) return thinkingBudget(Number(given));
  const mode = args.text('thinking');
  if (mode === 'disabled') return 'off';
  if (mode !== undefined && mode !== 'adaptive' && mode !== 'enabled')
    throw new UsageError(`--thinking takes adaptive or disabled, and not '${mode}'.`);
  const effort = args.text('effort');
  const level = EFFORTS.find((known) => known === effort);
  if (effort !== undefined && level === undefined)
    throw new UsageError(`--effort takes ${EFFORTS.join(', ')}, and not '${effort}'.`);
  return level;
}

/** @throws UsageError unless it is a whole number from 0. */
export function thinkingBudget(tokens: number): Thinking {
  if (!Number.isSafeInteger(tokens) || tokens < 0)
    throw new UsageError('The tokens to think in are a whole number of at least 0.');
  return tokens === 0 ? 'off' : { budgetTokens: tokens };
}

/** A model that a client may change while the session is open. */
export interface SwitchedModel extends Model {
  /** From its next request on. */
  switchTo(model: Model): void;
  /** How much it thinks from its next request on; undefined for what the agent says. */
  think(thinking: Thinking | undefined): void;
}

/** What a run asks: the model that was chosen last. */
export function switchedModel(first: Model): SwitchedModel {
  let now = first;
  let thinking: Thinking | undefined;
  const own = {
    switchTo(model: Model): void {
      now = model;
    },
    think(wanted: Thinking | undefined): void {
      thinking = wanted;
    },
    stream: (request: ModelRequest, signal: AbortSignal): ModelStream =>
      now.stream(thinking === undefined ? request : { ...request, thinking }, signal),
  };
  // Everything else is the model's own, whatever it has.
  return new Proxy(own, {
    get(target, name) {
      if (Object.hasOwn(target, name)) return Reflect.get(target, name) as unknown;
      const value: unknown = Reflect.get(now, name);
      return typeof value === 'function' ? (value.bind(now) as unknown) : value;
    },
    has: (target, name) => Object.hasOwn(target, name) || Reflect.has(now, name),
  }) as SwitchedModel;
}
