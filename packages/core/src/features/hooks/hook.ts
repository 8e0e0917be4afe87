import { EVENTS } from './events.ts';
import { mustBePositive } from '../../check-numbers.ts';
import { TreadleError } from '../../errors.ts';
import type { InputMessage, RunStatus } from '../../events/events.ts';
import type { PermissionMode } from '../../events/permission-updates.ts';
import type { JsonObject } from '../../json.ts';
import type { ToolResultContent } from '../../messages/content.ts';
import type { Message } from '../../messages/message.ts';
import type { ModelError, Usage } from '../../model/model.ts';
import { didYouMean } from '../../names/closest.ts';
import { refuseUnknownKeys } from '../../names/known-keys.ts';

/** A call as hooks are told of it; `arguments` as they stand after the hooks before. */
export interface HookCall {
  readonly turnIndex: number;
  readonly toolName: string;
  readonly callId: string;
  readonly arguments: JsonObject;
}

/** A call with its result. */
export interface HookCallResult extends HookCall {
  readonly content: readonly ToolResultContent[];
  readonly isError: boolean;
  /** Present when the run ended while the call ran. The answer of the hook doesn't count then. */
  readonly interrupted?: true;
}

/** A partial result of a running call. */
export interface HookCallUpdate {
  readonly toolName: string;
  readonly callId: string;
  readonly content: readonly ToolResultContent[];
}

/** What each event tells its hooks, besides `event`, `sessionId`, `agentId` and, in a run, `runId`. */
export interface HookInputs {
  /** `startup`: a new session; `resume`: one that existed was opened; `clear`: its conversation was reset. */
  readonly session_start: { readonly source: 'startup' | 'resume' | 'clear' };
  readonly session_end: { readonly reason: string };
  /** `prompt` is the text of all its messages. */
  readonly user_prompt_submit: { readonly prompt: string; readonly messages: readonly InputMessage[] };
  /** `runIndex` counts the runs of this configuration in the session, from 1. */
  readonly before_run: { readonly runIndex: number };
  readonly after_run: {
    readonly status: RunStatus;
    readonly message?: string;
    readonly turns: number;
    readonly usage: Usage;
    readonly cost: number | null;
  };
  readonly before_turn: { readonly turnIndex: number };
  readonly after_turn: { readonly turnIndex: number; readonly usage: Usage; readonly cost: number | null };
  readonly before_tool: HookCall;
  /** After every call that ran, failed ones included. */
  readonly after_tool: HookCallResult;
  /** After a call that ran and failed. */
  readonly tool_failed: HookCallResult;
  readonly before_tool_update: HookCallUpdate;
  readonly after_tool_update: HookCallUpdate;
  readonly model_error: { readonly attempt: number; readonly error: ModelError; readonly willRetry: boolean };
  /** Somebody is about to be asked whether this call may run. */
  readonly permission_request: HookCall & { readonly reason: string };
  /** A sub-agent is about to start. With `deny` it doesn't, and its call says why. */
  readonly subagent_start: { readonly agentType: string; readonly childRunId: string };
  /** A sub-agent is about to end well. With `deny` it goes on, and is told the reason. */
  readonly subagent_stop: {
    readonly agentType: string;
    readonly childRunId: string;
    readonly text: string;
    readonly stopHookActive: boolean;
    /** The sub-agent's conversation as its model sees it. Not to be changed. */
    readonly transcript: readonly Message[];
  };
  readonly before_compaction: {
    readonly trigger: 'auto' | 'manual' | 'overflow';
    readonly tokens: number;
    readonly instructions?: string;
  };
  readonly after_compaction: {
    readonly trigger: 'auto' | 'manual' | 'overflow';
    readonly tokensBefore: number;
    readonly tokensAfter: number;
  };
  /** Somebody should look: `kind` says for what (`approval`, `client_tools`). */
  readonly notification: { readonly kind: string; readonly message: string };
  /**
   * The run is about to end well, or was aborted (`interrupted`): then the answer doesn't count. `stopHookActive`: a stop
   * hook has kept it going before.
   */
  readonly stop: { readonly text: string; readonly stopHookActive: boolean; readonly interrupted?: true };
}

/** The moments at which hooks are called. */
export type HookEvent = keyof HookInputs;

/** What a hook of this event is given. */
export type HookInput<Event extends HookEvent = HookEvent> = {
  readonly [Name in Event]: HookInputs[Name] & {
    readonly event: Name;
    readonly sessionId: string;
    readonly agentId: string;
    readonly runId?: string;
  };
}[Event];

/** What a hook may use besides its input. */
export interface HookContext {
  /** Aborted when the hook's time is up or the run is interrupted. */
  readonly signal: AbortSignal;
  /** The conversation as models see it, at this moment. Not to be changed. */
  readonly messages: readonly Message[];
  /** What the session does with calls that no rule is about. */
  readonly permissionMode: PermissionMode;
}

/** What a hook says. Every part is optional; parts that mean nothing at its event are ignored. */
export interface HookResult {
  /**
   * Default `proceed`. `ask`: a person decides (`before_tool`). `allow`: nobody is asked, unless a rule wants it
   * (`before_tool`), or the answer to a question is yes (`permission_request`). `deny` of a `stop` hook keeps the run going.
   */
  readonly decision?: 'proceed' | 'allow' | 'deny' | 'ask';
  /** Why; told to the model where a call is denied or a stop is refused. */
  readonly reason?: string;
  /** `before_tool`, and with `allow` `permission_request`: arguments to run the call with instead. They are checked against the tool's schema again. */
  readonly input?: JsonObject;
  /** `after_tool`, `tool_failed`: what the model is told instead of the result. The log keeps the result. */
  readonly output?: string | readonly ToolResultContent[];
  /** Text the model is told before its next call. */
  readonly context?: string;
  /** Ends the run as `stopped`, for this reason. */
  readonly endRun?: string;
  /** For people: becomes a live `warning` event. */
  readonly systemMessage?: string;
}

/** `false` is `{ decision: 'deny' }`; `true` and nothing are `{ decision: 'proceed' }`. */
export type HookAnswer = boolean | HookResult | undefined | void;

/** One hook. Made by `defineHook`. */
export interface Hook {
  readonly event: HookEvent;
  /** For messages about it. */
  readonly name: string;
  /** A regular expression that the whole subject must match: a tool's name, a source, a trigger, a kind. */
  readonly matcher: RegExp | null;
  /** Milliseconds. A gate that takes longer denies. */
  readonly timeoutMs: number;
  /** True when nothing waits for it and nothing it says counts. */
  readonly background: boolean;
  readonly run: (input: HookInput, context: HookContext) => unknown;
}

/** Options of {@link defineHook}. */
export interface HookOptions {
  readonly name?: string;
  /** See `Hook`. Default: everything. `*` is everything too. */
  readonly matcher?: string;
  /** Milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  readonly background?: boolean;
}

const DEFAULT_TIMEOUT_MS = 60_000;

const OPTIONS: Readonly<Record<keyof HookOptions, true>> = {
  name: true,
  matcher: true,
  timeoutMs: true,
  background: true,
};

/**
 * A hook: your function, called at a moment of the loop. Hooks of one event are asked one after the other, in the order
 * in which the agent lists them; the first that denies ends the asking.
 *
 * @throws TreadleError `invalid_definition` when there is no such event or option, the matcher is no regular expression, or the
 * timeout makes no sense.
 *
 * @example
 * ```ts
 * import { defineAgent, defineHook } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const noSecrets = defineHook('before_tool', ({ arguments: args }) => !JSON.stringify(args).includes('.env'), {
 *   matcher: 'read_file|write_file',
 * });
 * const agent = defineAgent({ model: scriptedModel(['Hello.']), hooks: [noSecrets] });
 * console.log(agent.hooks?.has('before_tool', 'read_file')); // true
 * ```
 */
export function defineHook<Event extends HookEvent>(
  event: Event,
  run: (input: HookInput<Event>, context: HookContext) => HookAnswer | Promise<HookAnswer>,
  options: HookOptions = {},
): Hook {
  if (!Object.hasOwn(EVENTS, event)) {
    const hint = didYouMean(event, Object.keys(EVENTS));
    throw new TreadleError('invalid_definition', `There is no event ${JSON.stringify(event)} for hooks.${hint}`);
  }
  refuseUnknownKeys('A hook', options, OPTIONS);
  const { name = `${event} hook`, timeoutMs = DEFAULT_TIMEOUT_MS, background = false } = options;
  mustBePositive(`${name}: timeoutMs`, timeoutMs);
  // Whoever calls it has looked at the event.
  const erased = run as unknown as (input: HookInput, context: HookContext) => unknown;
  return Object.freeze({ event, name, matcher: matcherOf(name, options.matcher), timeoutMs, background, run: erased });
}

function matcherOf(name: string, matcher: string | undefined): RegExp | null {
  if (matcher === undefined || matcher === '' || matcher === '*') return null;
  try {
    return new RegExp(`^(?:${matcher})$`, 'u');
  } catch {
    throw new TreadleError('invalid_definition', `${name}: the matcher "${matcher}" is not a regular expression.`);
  }
}
