import { mustBePositive } from '../../check-numbers.ts';
import { TreadleError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import type { Message } from '../../messages/message.ts';
import type { Model, ModelErrorKind } from '../../model/model.ts';
import type { StopReason, Usage } from '../../model/usage.ts';

/** The name under which a routing knows the agent's own model. */
export const DEFAULT_MODEL = 'default';

/** What is known before a turn, for whoever chooses its model. */
export interface RoutingFacts {
  readonly sessionId: string;
  readonly runId: string;
  readonly agentId: string;
  /** Turns of the run before this one. */
  readonly turnIndex: number;
  readonly startedBy: 'user' | 'subAgent';
  /** What the caller said of the run. */
  readonly metadata: JsonObject | null;
  /** The strings in `tags` of the run's metadata. */
  readonly tags: readonly string[];
  /** All that can be chosen, by name; `default` is the agent's own. */
  readonly models: Readonly<Record<string, Model>>;
  /** The name of the one that is asked if nobody chooses: the one of the turn before. */
  readonly current: string;
  /** Of the run's last reply; null before the first. */
  readonly lastUsage: Usage | null;
  readonly lastStopReason: StopReason | null;
  /** The tools that the last reply called, in order. */
  readonly calledTools: readonly string[];
  /** Of the run so far; its cost is in US dollars, or null when any part is unknown. */
  readonly usage: Usage;
  readonly cost: number | null;
  /** Tokens of the request that is about to be made: reported as far as a provider has counted, estimated beyond. */
  readonly contextTokens: number;
  /** The newest call of the run that failed. */
  readonly lastError: { readonly model: string; readonly kind: ModelErrorKind; readonly turnIndex: number } | null;
  /** The conversation as models see it, with the prompt that is new. */
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
}

/** A choice: a name, with why for people to read; null to go on with the one of the turn before. */
export type RoutingChoice = string | { readonly model: string; readonly reason?: string } | null | undefined;

/** Chooses the model of a turn. */
export type ChooseModel = (facts: RoutingFacts) => RoutingChoice | Promise<RoutingChoice>;

/** Both ends count. */
export interface Range {
  readonly from?: number;
  readonly to?: number;
}

/** When a route is taken: when all that it names holds. */
export interface RouteCondition {
  /** Of the turn, from 0. */
  readonly turnIndex?: Range;
  readonly contextTokens?: Range;
  /** US dollars that the run has cost so far. An unknown cost is in no range. */
  readonly cost?: Range;
  readonly startedBy?: RoutingFacts['startedBy'];
  /** Any of them is among the run's tags. */
  readonly tags?: readonly string[];
  /** Any of them was called by the last reply. */
  readonly calledTools?: readonly string[];
  /** The newest call of the run that failed was one of these failures. */
  readonly failed?: readonly ModelErrorKind[];
}

/** A line of a table. */
export interface Route {
  readonly model: string;
  /** Absent: always. */
  readonly when?: RouteCondition;
}

/** Which model an agent asks, turn by turn. */
export interface RoutingOptions {
  /** The models that can be chosen besides the agent's own, by name. */
  readonly models: Readonly<Record<string, Model>>;
  /**
   * A function, or a table: its first line that holds is taken, and without one the model stays what it was. A run that
   * names its model isn't asked about. Default: an empty table.
   */
  readonly choose?: ChooseModel | readonly Route[];
  /** Milliseconds for a function. What takes longer chooses nothing. Default 10,000. */
  readonly timeoutMs?: number;
}

/** A routing, checked. */
export interface Routing {
  /** Where each name is among the agent's models. */
  readonly indexes: ReadonlyMap<string, number>;
  readonly models: Readonly<Record<string, Model>>;
  /** How many of the agent's models are its own: `model` and its fallbacks. A chosen one that fails falls back on them. */
  readonly own: number;
  readonly choose: ChooseModel | readonly Route[];
  readonly timeoutMs: number;
}

/**
 * The agent's models with those that can be chosen, and the routing; null for none.
 *
 * @throws TreadleError `invalid_definition`.
 */
export function checkRouting(
  given: RoutingOptions | undefined,
  own: readonly Model[],
  hasTools: boolean,
): { readonly models: readonly Model[]; readonly routing: Routing | null } {
  if (given === undefined) return { models: own, routing: null };
  const { choose = [], timeoutMs = 10_000 } = given;
  const models = [...own];
  const indexes = new Map([[DEFAULT_MODEL, 0]]);
  for (const [name, model] of Object.entries(given.models ?? {})) {
    checkModel(name, model, hasTools);
    if (!models.includes(model)) models.push(model);
    indexes.set(name, models.indexOf(model));
  }
  if (indexes.size === 1) refuse('routing.models has no model. Name at least one to choose from.');
  mustBePositive('routing.timeoutMs', timeoutMs);
  if (typeof choose !== 'function') checkTable(choose, indexes);
  const byName = Object.fromEntries([...indexes].flatMap(([name, at]) => (models[at] ? [[name, models[at]]] : [])));
  return {
    models,
    routing: Object.freeze({ indexes, models: Object.freeze(byName), own: own.length, choose, timeoutMs }),
  };
}

function checkModel(name: string, model: Model, hasTools: boolean): void {
  if (typeof model?.stream !== 'function') refuse(`routing.models.${name} is no model.`);
  if (name === DEFAULT_MODEL) refuse(`routing.models: "${DEFAULT_MODEL}" is the agent's own model. Use another name.`);
  if (hasTools && model.toolCalling === false) {
    refuse(`routing.models.${name} knows no tool calls, and the agent has tools. Wrap it in promptedTools.`);
  }
}

const RANGES = ['turnIndex', 'contextTokens', 'cost'] as const;
const LISTS = ['tags', 'calledTools', 'failed'] as const;
const CONDITIONS: ReadonlySet<string> = new Set([...RANGES, ...LISTS, 'startedBy']);

function checkTable(routes: readonly Route[], names: ReadonlyMap<string, number>): void {
  const isTable: boolean = Array.isArray(routes);
  if (!isTable) refuse('routing.choose must be a function or a list of routes.');
  routes.forEach(({ model, when = {} }, index) => {
    const at = `routing.choose[${index}]`;
    if (!names.has(model)) {
      refuse(`${at}: there is no model "${model}". There are ${[...names.keys()].join(', ')}.`);
    }
    // A condition that is misspelt would hold always.
    const unknown = Object.keys(when).find((name) => !CONDITIONS.has(name));
    if (unknown !== undefined) refuse(`${at}.when: there is no condition "${unknown}".`);
    for (const name of RANGES) checkRange(`${at}.when.${name}`, when[name]);
    for (const name of LISTS) {
      if (when[name] !== undefined && !Array.isArray(when[name])) refuse(`${at}.when.${name} must be a list.`);
    }
    const { startedBy = 'user' } = when;
    if (startedBy !== 'user' && startedBy !== 'subAgent') refuse(`${at}.when.startedBy must be 'user' or 'subAgent'.`);
  });
}

function checkRange(name: string, range: Range | undefined): void {
  if (range === undefined) return;
  const ends = [range.from ?? 0, range.to ?? Infinity];
  if (typeof range !== 'object' || !ends.every((end) => typeof end === 'number' && end >= 0)) {
    refuse(`${name} must be { from, to }, with numbers of at least 0.`);
  }
}

/**
 * The data of a run, with the model that it names.
 *
 * @throws TreadleError `invalid_definition` where the agent has no such model.
 */
export function withModel(
  routing: Routing | null,
  model: string | undefined,
  metadata: JsonObject | undefined,
): JsonObject | undefined {
  if (model === undefined) return metadata;
  const names = Object.keys(routing?.models ?? {});
  if (!names.includes(model)) {
    const known = names.length === 0 ? 'Give it `routing: { models }`.' : `There are ${names.join(', ')}.`;
    refuse(`The agent has no model ${JSON.stringify(model)}. ${known}`);
  }
  return { ...metadata, model };
}

/** What a table chooses: null for nothing. */
export function chosenRoute(routes: readonly Route[], facts: RoutingFacts): string | null {
  return routes.find(({ when = {} }) => holds(when, facts))?.model ?? null;
}

function holds(when: RouteCondition, facts: RoutingFacts): boolean {
  const { lastError, startedBy, tags, calledTools } = facts;
  return (
    RANGES.every((name) => isWithin(facts[name], when[name])) &&
    (when.startedBy ?? startedBy) === startedBy &&
    (when.tags?.some((tag) => tags.includes(tag)) ?? true) &&
    (when.calledTools?.some((name) => calledTools.includes(name)) ?? true) &&
    (when.failed?.some((kind) => kind === lastError?.kind) ?? true)
  );
}

const isWithin = (value: number | null, range: Range | undefined): boolean =>
  range === undefined || (value !== null && value >= (range.from ?? 0) && value <= (range.to ?? Infinity));

/** The model to ask when this one could not be reached; null when there is none left. */
export function nextModel(models: readonly Model[], routing: Routing | null, index: number): number | null {
  const own = routing?.own ?? models.length;
  const next = index < own ? index + 1 : 0;
  return next < own ? next : null;
}

function refuse(message: string): never {
  throw new TreadleError('invalid_definition', message);
}
