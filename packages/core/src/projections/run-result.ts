import { typedPending } from '../events/tool-events.ts';
import { CacheUseFold, type CacheUse } from './cache-use.ts';
import type { DurableEvent, InputMessage, PendingCall, QueueKind, RunStatus, SessionInput } from '../events/events.ts';
import type { GeneratedFile } from '../events/generated-files.ts';
import { runIdOf } from '../events/run-of.ts';
import { asPermissionDecision } from '../features/permissions/decision.ts';
import type { DecidedBy } from '../features/permissions/evaluate.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import type { FileBlock } from '../messages/content.ts';
import { finalText, textsOf } from '../messages/final-text.ts';
import { type AssistantMessage, isConversation, type Message, type ToolResultMessage } from '../messages/message.ts';
import type { ModelError, ModelWarning } from '../model/model.ts';
import { openTurn, resultOf, resultsInOrder, type OpenTurn } from '../journal/history.ts';
import { addSpending, NOTHING_SPENT, spendingOf, type Spending } from './spending.ts';
import { addUsage, cacheHitRate, type StopReason, UNKNOWN_USAGE, type Usage } from '../model/usage.ts';
import { isStopToolName, stopToolText } from '../tools/stop-tool-names.ts';

/** What a run came to. Failing is a result too: read `status` before you rely on the answer. */
export interface RunResult<Output = unknown> {
  readonly runId: string;
  /** `paused` when the run waits for a client tool or an answer, listed in `pending`. */
  readonly status: RunStatus | 'paused';
  readonly stopReason: StopReason | null;
  /** The last message of the model, if there was one. */
  readonly finalMessage: AssistantMessage | null;
  /**
   * The text after the last tool block of the final message, with all that came before when its length had cut it off; what
   * a stop tool says when one ended the run.
   */
  readonly text: string;
  /** The value of a run with structured output, typed by its schema; undefined when it came to none. */
  readonly output: Output | undefined;
  /** The call of a stop tool that ended the run. */
  readonly stopTool: StopToolCall | null;
  /**
   * This run's conversation, its prompt first, as it happened; without what the runtime told the model beside it, and
   * without results of built-in stop tools.
   */
  readonly messages: readonly Message[];
  /** The sum of what is known; each message has its own. */
  readonly usage: Usage;
  /**
   * US dollars, with failed attempts and sub-agents; null when any part is unknown. Sub-agents in the background count once
   * they have ended: those that work on when the run ends are in the result of no run.
   */
  readonly cost: number | null;
  /** What of `cost` are the run's own model calls, and what its sub-agents and theirs. */
  readonly costBreakdown: { readonly own: number | null; readonly subAgents: number | null };
  /** What its own replies used and cost, by `provider/model`. Failed attempts, compactions and sub-agents are not in it. */
  readonly modelUsage: Readonly<Record<string, Spending>>;
  /** The share of all prompts that came out of the provider's cache, from 0 to 1; null when any prompt wasn't counted. */
  readonly cacheHitRate: number | null;
  /** What became of its prompts in the provider's cache. */
  readonly cache: CacheUse;
  /** Model calls. */
  readonly turns: number;
  /** Milliseconds from its start to its end or its pause, with earlier pauses. 0 for a run that was rejected. */
  readonly durationMs: number;
  /** Milliseconds of `durationMs` that models took to reply, failed attempts included. */
  readonly apiDurationMs: number;
  /** Files that tools, the provider's own among them, and the model produced. */
  readonly files: readonly FileBlock[];
  /** The provider's container, when it used one. */
  readonly containerId: string | null;
  /** Calls that wait for a client or a person. */
  readonly pending: readonly PendingCall[];
  /** Calls that were denied, oldest first. */
  readonly permissionDenials: readonly PermissionDenial[];
  /** What was queued during the run and nobody delivered: it ended first. */
  readonly undelivered: readonly UndeliveredMessage[];
  /** What doesn't look right about its replies, such as token counts that can't be true. Each also has its own. */
  readonly warnings: readonly ModelWarning[];
  /** Why, in words, when `status` is not `completed`. */
  readonly message: string | null;
  readonly error: ModelError | null;
}

/** A call that ended its run. */
export interface StopToolCall {
  readonly name: string;
  /** As the model wrote them. */
  readonly arguments: JsonObject;
}

/** A call that was not run because permissions, a person or a hook said no. */
export interface PermissionDenial {
  readonly callId: string;
  readonly toolName: string;
  /** As the model wrote them. */
  readonly arguments: JsonObject;
  /** What the model was told. */
  readonly reason: string;
  /** Who said no: a rule, the mode, a hook, `canUseTool`, a person, or the gate where nobody could be asked. */
  readonly by: DecidedBy['type'];
}

/** A queued message that was not delivered. */
export interface UndeliveredMessage {
  readonly kind: QueueKind;
  readonly message: InputMessage;
}

/** Folds a run's durable events into its result; events of other runs are passed over. */
export interface RunResultFold {
  take(event: DurableEvent): void;
  /** True after `run_ended`, or `run_paused` and nothing since. */
  isSettled(): boolean;
  result(): RunResult;
}

/** Starts the fold of a run's result. Feed it the run's events from `run_started` on. */
export const runResultFold = (runId: string): RunResultFold => new ResultFold(runId);

class ResultFold implements RunResultFold {
  readonly #runId: string;
  readonly #messages: Message[] = [];
  readonly #files: FileBlock[] = [];
  readonly #permissionDenials: PermissionDenial[] = [];
  #usage: Usage = UNKNOWN_USAGE;
  #cost: number | null = 0;
  #childCost: number | null = 0;
  readonly #models = new Map<string, Spending>();
  /** Who refused calls, as far as that was decided on. */
  #deniedBy: Map<string, DecidedBy['type']> | null = null;
  readonly #cache = new CacheUseFold();
  #promptsCounted = true;
  #turns = 0;
  #startedAt: number | null = null;
  #lastAt = 0;
  /** When the model was asked that hasn't replied yet. */
  #askedAt: number | null = null;
  #apiDurationMs = 0;
  /** Tasks in the background that the run began. */
  #tasks: Set<string> | null = null;
  /** Null when its calls don't count. */
  #turn: OpenTurn | null = null;
  #finalMessage: AssistantMessage | null = null;
  #lastResults = NO_RESULTS;
  /** What an answer said until it was cut off, and whether the next message goes on with it. */
  #answered = '';
  #goesOn = false;
  #queue: Map<number, UndeliveredMessage> | null = null;
  readonly #undelivered: UndeliveredMessage[] = [];
  #isSelected = true;
  #containerId: string | null = null;
  #paused: Extract<DurableEvent, { type: 'run_paused' }> | null = null;
  #ended: Extract<DurableEvent, { type: 'run_ended' }> | null = null;

  constructor(runId: string) {
    this.#runId = runId;
  }

  // These may be taken off it and handed on.
  readonly isSettled = (): boolean => this.#ended !== null || this.#paused !== null;

  readonly take = (event: DurableEvent): void => {
    if (event.type === 'input_received' && isQueued(event.input)) {
      this.#queue ??= new Map();
      this.#queue.set(event.seq, { kind: event.input.type, message: event.input.message });
    }
    if (event.type === 'input_received' && event.input.type === 'task_ended' && this.#tasks?.has(event.input.taskId))
      this.#addChild(event.input.details);
    if (runIdOf(event) !== this.#runId) return;
    this.#time(event);
    if (event.type === 'task_updated' && event.task) (this.#tasks ??= new Set()).add(event.taskId);
    this.#paused = event.type === 'run_paused' ? event : null;
    if (event.type === 'input_rejected') this.#undelivered.push(...this.#lost(event.inputSeq));
    else if (event.type === 'turn_started' && event.attempt === 1) this.#turns += 1;
    else if (event.type === 'message_added') {
      if (event.notice?.type === 'cut_off') {
        this.#answered += finalText(this.#finalMessage);
        this.#goesOn = true;
      }
      if (event.inputSeq !== undefined) this.#queue?.delete(event.inputSeq);
      this.#addMessage(event.message, event.inView);
    } else if (event.type === 'tool_ended' || event.type === 'tool_call_rejected') this.#addResult(event);
    else if (event.type === 'decision_made' && event.kind === 'permission' && event.callId !== undefined) {
      this.#deniedBy ??= new Map();
      this.#deniedBy.set(event.callId, asPermissionDecision(event.decision).by.type);
    } else if (event.type === 'files_generated') for (const file of event.files) this.#addGenerated(file);
    else if (event.type === 'turn_ended') this.#endTurn();
    else if (event.type === 'compacted') this.#cache.compacted();
    else if (event.type === 'branches_ended') this.#isSelected = true;
    else if (event.type === 'branches_started') this.#isSelected = false;
    else if (event.type === 'run_ended') this.#ended = event;
    // Branches of which none was selected have been paid for all the same.
    const spent = event.type === 'run_ended' && !this.#isSelected ? event : spendingOf(event);
    if (spent) this.#spend(spent.usage, spent.cost);
  };

  readonly result = (): RunResult => {
    const ended = this.#ended;
    const terminal = this.#lastResults.find(({ callId }) => callId === ended?.stopCallId);
    return {
      runId: this.#runId,
      status: ended?.status ?? 'paused',
      stopReason: ended ? ended.stopReason : (this.#finalMessage?.stopReason ?? null),
      finalMessage: this.#finalMessage,
      text: finalAnswer(this.#finalMessage, terminal, this.#answered),
      output: ended?.output,
      stopTool: stopCall(this.#finalMessage, ended?.stopCallId),
      messages: this.#messages,
      usage: this.#usage,
      cost: addCost(this.#cost, this.#childCost),
      costBreakdown: { own: this.#cost, subAgents: this.#childCost },
      modelUsage: Object.fromEntries(this.#models),
      cacheHitRate: this.#promptsCounted ? cacheHitRate(this.#usage) : null,
      cache: this.#cache.result(),
      turns: this.#turns,
      durationMs: this.#startedAt === null ? 0 : this.#lastAt - this.#startedAt,
      apiDurationMs: this.#apiDurationMs,
      files: this.#files,
      containerId: this.#containerId,
      pending: this.#paused?.pending.map(typedPending) ?? [],
      permissionDenials: this.#permissionDenials,
      undelivered: this.#undelivered,
      warnings: this.#messages.flatMap((message) => (message.role === 'assistant' ? (message.warnings ?? []) : [])),
      message: ended?.message ?? null,
      error: ended?.error ?? null,
    };
  };

  #time(event: DurableEvent): void {
    const { type, at } = event;
    this.#lastAt = at;
    if (type === 'run_started') this.#startedAt = at;
    else if (type === 'turn_started') this.#askedAt = at;
    else if (isReply(event)) {
      if (this.#askedAt !== null) this.#apiDurationMs += at - this.#askedAt;
      this.#askedAt = null;
    }
  }

  /** What a sub-agent's call says of it. */
  #addChild(details: JsonValue | undefined): void {
    if (!isJsonObject(details) || typeof details['childSessionId'] !== 'string') return;
    const { cost = 0 } = details;
    this.#childCost = addCost(this.#childCost, typeof cost === 'number' ? cost : null);
  }

  #spend(used: Usage, price: number | null): void {
    this.#usage = addUsage(this.#usage, used);
    if (used.input === null || used.cacheRead === null) this.#promptsCounted = false;
    this.#cost = addCost(this.#cost, price);
  }

  #addMessage(message: Message, inView: boolean): void {
    if (isConversation(message)) this.#messages.push(message);
    if (message.role !== 'assistant') return;
    const model = `${message.provider}/${message.model}`;
    this.#models.set(model, addSpending(this.#models.get(model) ?? NOTHING_SPENT, message));
    this.#cache.take(message);
    const isPaused = this.#finalMessage?.stopReason === 'pause';
    // The provider's pause cut the answer in two.
    if (isPaused) this.#answered += finalText(this.#finalMessage);
    else if (!this.#goesOn) this.#answered = '';
    if (inView) this.#goesOn = false;
    this.#containerId = message.containerId ?? this.#containerId;
    this.#finalMessage = message;
    this.#lastResults = NO_RESULTS;
    this.#turn = inView ? openTurn(message) : null;
    for (const block of message.content) if (block.type === 'file') this.#files.push(block);
  }

  #addResult(event: Extract<DurableEvent, { type: 'tool_ended' | 'tool_call_rejected' }>): void {
    const { callId, toolName, content } = event;
    this.#turn?.results.set(callId, resultOf(event));
    if (event.type === 'tool_call_rejected' && DENIALS.has(event.reason)) {
      const block = this.#finalMessage?.content.find((part) => part.type === 'tool_call' && part.callId === callId);
      const args = block?.type === 'tool_call' ? block.arguments : {};
      const by = event.reason === 'hook' ? 'hook' : (this.#deniedBy?.get(callId) ?? 'gate');
      this.#permissionDenials.push({ callId, toolName, arguments: args, reason: textsOf(content).join(''), by });
    }
    // Only the loop says that a call had a run of its own, and what it says of it are then the details.
    if (event.type === 'tool_ended' && event.childRunId !== undefined) this.#addChild(event.details);
    if (event.type === 'tool_ended' && event.files) this.#files.push(...event.files);
  }

  /** Seen again in a run that went on, it stands once. */
  #addGenerated({ fileId, provider, name, mediaType, blob }: GeneratedFile): void {
    const at = this.#files.findIndex((file) => file.fileId === fileId && file.provider === provider);
    const block: FileBlock = {
      type: 'file',
      mediaType: mediaType ?? 'application/octet-stream',
      ...(name === undefined ? {} : { name }),
      ...(blob ? { blob } : {}),
      fileId,
      provider,
    };
    if (at < 0) this.#files.push(block);
    else this.#files[at] = block;
  }

  #lost(inputSeq: number): UndeliveredMessage[] {
    const message = this.#queue?.get(inputSeq);
    return message ? [message] : [];
  }

  #endTurn(): void {
    const results = resultsInOrder(this.#turn);
    this.#messages.push(...results.filter(({ isError, toolName }) => isError || !isStopToolName(toolName)));
    this.#lastResults = results;
    this.#turn = null;
  }
}

const addCost = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a + b);

/** True for what ends a model call. */
const isReply = (event: DurableEvent): boolean =>
  event.type === 'attempt_failed' ||
  event.type === 'message_discarded' ||
  event.type === 'run_ended' ||
  (event.type === 'message_added' && event.message.role === 'assistant');

const NO_RESULTS: readonly ToolResultMessage[] = [];

const isQueued = (input: SessionInput): input is Extract<SessionInput, { readonly type: QueueKind }> =>
  input.type === 'steering' || input.type === 'follow_up';

/** The call of this id in a reply. */
export function stopCall(message: AssistantMessage | null, callId: string | undefined): StopToolCall | null {
  const call = message?.content.find((block) => block.type === 'tool_call' && block.callId === callId);
  return call?.type === 'tool_call' ? { name: call.name, arguments: call.arguments } : null;
}

/** What the terminal call that ended the run says, or its result; else the text after the message's last tool block. */
export function finalAnswer(
  message: AssistantMessage | null,
  terminal: ToolResultMessage | undefined,
  answered = '',
): string {
  const call = stopCall(message, terminal?.callId);
  const said = call && stopToolText(call.name, call.arguments);
  return said ?? (terminal ? textsOf(terminal.content).join('') : answered + finalText(message));
}

const DENIALS: ReadonlySet<string> = new Set(['denied', 'hook', 'expired']);
