import type { ThinkingLevel } from '@treadle/core';
import type { ModelRequest, ModelWarning, Thinking } from '@treadle/core/model';

/** How much a model thinks when it does. */
export type Effort = Exclude<ThinkingLevel, 'off'>;

/** When a model takes a field of a request. */
export type Taken = 'always' | 'without_thinking' | 'never';

/** What a family of models takes, and in which form. */
export interface ModelFamily {
  /** Matches the ids of its models. */
  readonly match: RegExp;
  /** When it takes a temperature. */
  readonly temperature: Taken;
  /** When a tool may be forced. */
  readonly forcedTool: Taken;
  /** Whether a form of the reply may stand beside tools. */
  readonly formatWithTools: boolean;
  /** Whether the service keeps a schema itself, on the Messages API. Elsewhere the wire says so. */
  readonly keepsSchemas?: boolean;
  /** The efforts that it knows, least first. */
  readonly efforts: readonly Effort[];
  /** Tokens of thinking at least and at most, where thinking is set in tokens. */
  readonly budget?: readonly [least: number, most: number];
  /** Whether it thinks where a request says nothing about it. */
  readonly thinksUnasked: boolean;
  /** Whether it sends its thinking without the text, unless a request asks for a summary. */
  readonly hidesThinking?: boolean;
  /**
   * How thinking is switched off: by saying nothing, by an effort `none`, by a budget of 0, by a type of the field
   * `thinking`, or never.
   */
  readonly off: 'silence' | 'none' | 'zero' | 'disabled' | 'between_tools' | 'never';
  /** Whether a conversation may end with words of the model, which it continues. */
  readonly prefill: boolean;
  /** Whether the service checks that a thinking block stands behind the same instructions, tools and messages as ever. */
  readonly boundThinking: boolean;
  /** Whether definitions of tools can be added to its prompt in place, where the wire has a way. */
  readonly deferredTools?: boolean;
  /** When Chat Completions takes tools of it: always, unless an effort was asked for, only with thinking off, or never. */
  readonly chatTools: 'always' | 'unless_asked' | 'without_thinking' | 'never';
  /** The field that switches thinking on and off on Chat Completions, where it isn't that of the server's other models. */
  readonly thinkingSwitch?: 'none' | 'thinking' | 'enable_thinking';
}

/** The families of a provider: the first that matches holds. The last one matches every id, and is the newest. */
export type ModelFamilies = readonly [ModelFamily, ...ModelFamily[]];

/** The rules for a model, where its name doesn't say them: those of the model that is named, or rules of one's own. */
export type FamilyQuirk = string | Partial<ModelFamily>;

/** The family of a model. */
export function familyOf(families: ModelFamilies, modelId: string, quirk?: FamilyQuirk): ModelFamily {
  const id = typeof quirk === 'string' ? quirk : modelId;
  const found = families.find(({ match }) => match.test(id)) ?? families[0];
  return typeof quirk === 'object' ? { ...found, ...quirk } : found;
}

/** Told what a request loses because its model doesn't take it. */
export type Warn = (code: string, message: string) => void;

/** What becomes of a request's thinking. */
export type ThinkingPlan =
  | { readonly type: 'unsaid' }
  | { readonly type: 'off' }
  | { readonly type: 'effort'; readonly effort: Effort }
  | { readonly type: 'budget'; readonly tokens: number };

const ORDER: readonly Effort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Tokens to think in, for models that are told a number. */
const TOKENS: Readonly<Record<Effort, number>> = {
  minimal: 128,
  low: 512,
  medium: 2048,
  high: 8192,
  xhigh: 16_384,
  max: 32_768,
};

/** The nearest effort that there is; of two as near, the higher one. */
function nearest(efforts: readonly Effort[], wanted: Effort): Effort | undefined {
  const place = ORDER.indexOf(wanted);
  const distance = (effort: Effort): number => Math.abs(ORDER.indexOf(effort) - place);
  return efforts
    .toReversed()
    .reduce<Effort | undefined>(
      (best, effort) => (best === undefined || distance(effort) < distance(best) ? effort : best),
      undefined,
    );
}

/** The effort for so many tokens: the least that thinks as long. */
export const effortFor = (tokens: number): Effort => ORDER.slice(1).find((effort) => TOKENS[effort] >= tokens) ?? 'max';

const within = (tokens: number, [least, most]: readonly [number, number]): number =>
  Math.min(most, Math.max(least, tokens));

/** What the model is told about thinking: the nearest to what was asked that its family takes. */
export function planThinking(
  { efforts, budget, off }: ModelFamily,
  thinking: Thinking | undefined,
  modelId: string,
  warn: Warn,
): ThinkingPlan {
  if (thinking === undefined) return { type: 'unsaid' };
  const canThink = efforts.length > 0 || budget !== undefined || off !== 'silence';
  if (thinking === 'off') {
    if (off !== 'never') return { type: 'off' };
    warn('thinking_not_off', `${modelId} always thinks: its thinking can't be switched off, and is set to the least.`);
  } else if (!canThink) {
    warn('thinking_dropped', `${modelId} doesn't think: the setting "thinking" is left out.`);
    return { type: 'unsaid' };
  }
  const wanted = thinking === 'off' ? 'minimal' : thinking;
  const effort = nearest(efforts, typeof wanted === 'string' ? wanted : effortFor(wanted.budgetTokens));
  const inTokens = budget !== undefined && (typeof wanted === 'object' || effort === undefined);
  if (inTokens) {
    const tokens = thinking === 'off' ? 0 : typeof wanted === 'string' ? TOKENS[wanted] : wanted.budgetTokens;
    return { type: 'budget', tokens: within(tokens, budget) };
  }
  return effort === undefined ? { type: 'unsaid' } : { type: 'effort', effort };
}

/** Whether the model thinks under this plan. */
export const isThinking = ({ thinksUnasked }: ModelFamily, { type }: ThinkingPlan): boolean =>
  type === 'unsaid' ? thinksUnasked : type !== 'off';

/** The temperature of a request, where the model takes one. */
export function takenTemperature(
  { temperature: taken }: ModelFamily,
  { temperature }: ModelRequest,
  thinks: boolean,
  modelId: string,
  warn: Warn,
): number | undefined {
  if (temperature === undefined || taken === 'always' || (taken === 'without_thinking' && !thinks)) return temperature;
  const when = taken === 'never' ? '' : ' while it thinks';
  warn('temperature_dropped', `${modelId} takes no temperature${when}: the setting is left out.`);
  return undefined;
}

/** What a model is told where it has to call a tool and can't be forced to; undefined where it is free or can be. */
export function demandedTool({ toolChoice }: ModelRequest, modelId: string, warn: Warn): string | undefined {
  if (toolChoice === undefined || toolChoice === 'auto' || toolChoice === 'none') return undefined;
  warn('tool_choice_dropped', `${modelId} can't be forced to call a tool: it is asked to, in its instructions.`);
  const which = toolChoice === 'required' ? 'one of your tools' : `the tool ${toolChoice.name}`;
  return `Your next reply must call ${which}.`;
}

/** The form of a reply in words, for a model that isn't told it otherwise. */
export const formInWords = (format: NonNullable<ModelRequest['responseFormat']>): string =>
  format.type === 'json_object'
    ? 'Reply with one JSON object and nothing else.'
    : `Reply with JSON and nothing else. It must fit this JSON Schema:\n${JSON.stringify(format.schema)}`;

/** Instructions with more at their end. */
export const withInstructions = (system: string, ...more: readonly (string | undefined)[]): string =>
  [system, ...more].filter((text) => text !== undefined && text.trim() !== '').join('\n\n');

/** The warnings of one request. */
export function createWarnings(): { readonly warn: Warn; readonly list: ModelWarning[] } {
  const list: ModelWarning[] = [];
  return { list, warn: (code, message) => void list.push({ code, message }) };
}
