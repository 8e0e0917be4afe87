import type { ClientCapabilities, SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk';
import type { AssistantContent, AssistantMessage, DurableEvent, JsonObject, TreadleEvent, Usage } from '@treadle/core';
import { endedCall, isDurable, type PermissionMode, type PermissionUpdate } from '@treadle/core/events';
import { isJsonObject } from '@treadle/core/json';
import { totalTokens } from '@treadle/core/model';
import { planFold, sessionTitleFold, todoFold, type Plan } from '@treadle/core/projections';

import { callContent, contentBlock } from './content.ts';
import { STOP_REASONS } from './stop-reason.ts';
import { diffOf, isVerbatim, kindOf, locationsOf, titleOf } from './tool-calls.ts';

/** What the updates of a session depend on, besides its events. */
export interface UpdateOptions {
  /** The real path of the folder it works in. */
  readonly folder: string;
  /** What a tool is called for people; undefined for one that the agent doesn't have. */
  readonly label: (toolName: string) => string | undefined;
  readonly client: ClientCapabilities;
  /** Tokens of the model's window, when known. */
  readonly contextWindow: () => number | undefined;
}

/** Folds a session's events into what its client is told. */
export interface Updates {
  /**
   * The updates of an event. Of a message that was streamed they have what the deltas didn't.
   *
   * @param before what the file held that a `file_checkpointed` is about; null for none, undefined where nobody knows
   */
  take(event: TreadleEvent, before?: string | null): SessionUpdate[];
  /** The last event of the log that was taken. */
  readonly seq: number;
  /** What the session's own log says of how it runs; undefined while it says nothing. */
  readonly settings: SessionSettings;
}

/** How a session runs, by its log. */
export interface SessionSettings {
  /** The permission mode that somebody has chosen for it. */
  readonly mode?: PermissionMode;
  /** `provider/model` of its last run. */
  readonly model?: string;
  readonly thinking?: string;
}

/** The kinds of updates of which only the last one counts. */
export const LATEST: ReadonlySet<SessionUpdate['sessionUpdate']> = new Set([
  'plan',
  'usage_update',
  'session_info_update',
  'current_mode_update',
]);

/**
 * Starts the fold of a session's updates. Live and durable events may be mixed, or the durable ones come alone, as a session
 * is loaded: the client sees the same.
 */
export const sessionUpdates = (options: UpdateOptions): Updates => new UpdateFold(options);

/** A call that the client knows of. */
interface KnownCall {
  readonly toolName: string;
  arguments: JsonObject;
  /** What the file held that it has changed. */
  before: string | null | undefined;
  /** The client's terminal that it runs in. */
  terminalId: string | null;
  /** What its sub-agent has said and done. */
  readonly lines: string[];
}

const MOST_LINES = 40;

/** Where messages come from that people or programs have written, and not the runtime. */
const PEOPLES: ReadonlySet<string> = new Set(['prompt', 'steering', 'follow_up', 'import']);

class UpdateFold implements Updates {
  readonly #options: UpdateOptions;
  readonly #calls = new Map<string, KnownCall>();
  readonly #todos = todoFold();
  readonly #plan = planFold();
  readonly #title = sessionTitleFold();
  #cost: number | null = 0;
  /** Characters of each block of the open message that the client has. */
  #sent = new Map<number, number>();
  #compactions = 0;
  #isCompacting = false;
  seq = 0;
  settings: SessionSettings = {};

  constructor(options: UpdateOptions) {
    this.#options = options;
  }

  take(event: TreadleEvent, before?: string | null): SessionUpdate[] {
    if (!isDurable(event)) return this.#live(event);
    this.seq = event.seq;
    return [...this.#session(event), ...this.#conversation(event), ...this.#call(event, before)];
  }

  #live(event: Exclude<TreadleEvent, DurableEvent>): SessionUpdate[] {
    switch (event.type) {
      case 'message_started':
        this.#sent.clear();
        return [];
      case 'message_delta': {
        const { kind, index, offset, text, callId, toolName, messageId } = event;
        if (kind === 'tool_arguments')
          return callId === undefined || toolName === undefined ? [] : this.#announce(callId, toolName, null);
        this.#sent.set(index, offset + text.length);
        return [chunk(kind === 'text' ? 'agent_message_chunk' : 'agent_thought_chunk', text, messageId)];
      }
      case 'tool_update':
        return this.#progress(event.callId, callContent(event.content, isVerbatim(event.toolName)), event.details);
      case 'child_event':
        return this.#child(event.callId, event.event);
      case 'status':
        return event.status === 'compacting' ? this.#compacting() : [];
      case 'warning':
        return this.#notice('warning', event.message);
      default:
        return [];
    }
  }

  /** What holds for the session as a whole. */
  #session(event: DurableEvent): SessionUpdate[] {
    const was = this.#title.title();
    this.#title.take(event);
    const title = this.#title.title();
    const updates: SessionUpdate[] = [];
    if (title !== was) {
      const updatedAt = new Date(event.at).toISOString();
      updates.push({ sessionUpdate: 'session_info_update', title, updatedAt });
    }
    if (this.#todos.take(event)) {
      const entries = this.#todos.items.map(({ content, status }) => ({
        content,
        status,
        priority: 'medium' as const,
      }));
      updates.push({ sessionUpdate: 'plan', entries });
    }
    if (this.#plan.take(event)) updates.push({ sessionUpdate: 'plan', entries: planEntries(this.#plan.plan) });
    for (const update of permissionUpdates(event)) {
      if (update.type !== 'setMode') continue;
      this.settings = { ...this.settings, mode: update.mode };
      updates.push({ sessionUpdate: 'current_mode_update', currentModeId: update.mode });
    }
    if (event.type === 'run_started') {
      const { provider, model, thinking } = event.config;
      const { mode } = this.settings;
      this.settings = { model: `${provider}/${model}`, ...(mode && { mode }), ...(thinking && { thinking }) };
    }
    return updates;
  }

  #conversation(event: DurableEvent): SessionUpdate[] {
    switch (event.type) {
      case 'message_added': {
        const { message } = event;
        if (message.role === 'assistant') return this.#assistant(message);
        if (message.role !== 'user' || !PEOPLES.has(message.origin)) return [];
        return message.content.map((block) => ({
          sessionUpdate: 'user_message_chunk',
          content: contentBlock(block),
          messageId: message.id,
        }));
      }
      case 'message_discarded':
        this.#sent.clear();
        return this.#notice('info', 'The reply above was cut off. The model is asked again.');
      case 'turn_ended':
        return this.#used(event.usage, event.cost);
      case 'compacted':
        return this.#compacted('completed');
      case 'compaction_failed':
        return this.#compacted('failed', event.message);
      case 'run_ended':
        return this.#ended(event);
      default:
        return [];
    }
  }

  #assistant({ id, content }: AssistantMessage): SessionUpdate[] {
    const updates = content.flatMap((block, index): SessionUpdate[] => {
      switch (block.type) {
        case 'text':
        case 'thinking': {
          const rest = block.text.slice(this.#sent.get(index) ?? 0);
          if (rest === '') return [];
          return [chunk(block.type === 'text' ? 'agent_message_chunk' : 'agent_thought_chunk', rest, id)];
        }
        case 'image':
        case 'file':
          return [{ sessionUpdate: 'agent_message_chunk', content: contentBlock(block), messageId: id }];
        case 'tool_call':
          return this.#announce(block.callId, block.name, block.arguments);
        default:
          return providerCall(block);
      }
    });
    this.#sent.clear();
    return updates;
  }

  /** What becomes of calls. */
  #call(event: DurableEvent, before: string | null | undefined): SessionUpdate[] {
    if (event.type === 'tool_started') {
      const { callId, toolName, arguments: args } = event;
      const news = this.#announce(callId, toolName, args);
      return [...news, { sessionUpdate: 'tool_call_update', toolCallId: callId, status: 'in_progress' }];
    }
    if (event.type === 'file_checkpointed') {
      const call = this.#calls.get(event.callId);
      if (call) call.before = event.before === null ? null : before;
      return [];
    }
    const ended = endedCall(event);
    if (!ended) return [];
    const { callId, toolName, content, isError, details } = ended;
    const news = this.#calls.has(callId) ? [] : this.#announce(callId, toolName, {});
    const call = this.#calls.get(callId);
    const args = call?.arguments ?? {};
    const { folder } = this.#options;
    const diff = isError ? [] : diffOf(toolName, args, folder, call?.before);
    const own: ToolCallContent[] = call?.terminalId
      ? [{ type: 'terminal', terminalId: call.terminalId }]
      : diff.length > 0
        ? diff
        : callContent(content, isVerbatim(toolName));
    const locations = locationsOf(toolName, args, folder, details);
    return [
      ...news,
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: callId,
        status: isError ? 'failed' : 'completed',
        content: own,
        ...(locations.length > 0 ? { locations } : {}),
        ...(details === undefined ? {} : { rawOutput: details }),
      },
    ];
  }

  /** Tells the client of a call, or what is new of it. `args` is null while they are being written. */
  #announce(callId: string, toolName: string, args: JsonObject | null): SessionUpdate[] {
    const known = this.#calls.get(callId);
    if (known && (args === null || JSON.stringify(known.arguments) === JSON.stringify(args))) return [];
    const { folder, label } = this.#options;
    const given = args ?? {};
    if (known) known.arguments = given;
    else this.#calls.set(callId, { toolName, arguments: given, before: undefined, terminalId: null, lines: [] });
    const content = diffOf(toolName, given, folder, undefined);
    const locations = locationsOf(toolName, given, folder);
    const facts = {
      toolCallId: callId,
      title: titleOf(toolName, label(toolName) ?? toolName, given),
      kind: kindOf(toolName),
      ...(content.length > 0 ? { content } : {}),
      ...(locations.length > 0 ? { locations } : {}),
      ...(args === null ? {} : { rawInput: args }),
    };
    if (known) return [{ sessionUpdate: 'tool_call_update', ...facts }];
    return [{ sessionUpdate: 'tool_call', name: toolName, status: 'pending', ...facts }];
  }

  #progress(callId: string, content: ToolCallContent[], details?: unknown): SessionUpdate[] {
    const call = this.#calls.get(callId);
    const terminalId = isJsonObject(details) ? details['terminalId'] : undefined;
    if (call && typeof terminalId === 'string') call.terminalId = terminalId;
    const shown: ToolCallContent[] = call?.terminalId ? [{ type: 'terminal', terminalId: call.terminalId }] : content;
    return [{ sessionUpdate: 'tool_call_update', toolCallId: callId, content: shown }];
  }

  /** A sub-agent's work is shown inside the call that it is. */
  #child(callId: string, event: TreadleEvent): SessionUpdate[] {
    const call = this.#calls.get(callId);
    if (!call || event.type !== 'message_added' || event.message.role !== 'assistant') return [];
    for (const block of event.message.content) {
      if (block.type === 'text' && block.text.trim() !== '') call.lines.push(block.text.trim());
      if (block.type === 'tool_call') {
        const label = this.#options.label(block.name) ?? block.name;
        call.lines.push(`- ${titleOf(block.name, label, block.arguments)}`);
      }
    }
    const text = call.lines.slice(-MOST_LINES).join('\n');
    return this.#progress(callId, callContent([{ type: 'text', text }], false));
  }

  #used(usage: Usage, cost: number | null): SessionUpdate[] {
    this.#cost = this.#cost === null || cost === null ? null : this.#cost + cost;
    const size = this.#options.contextWindow();
    if (size === undefined || usage.input === null) return [];
    const total = this.#cost === null ? {} : { cost: { amount: this.#cost, currency: 'USD' } };
    return [{ sessionUpdate: 'usage_update', used: totalTokens(usage), size, ...total }];
  }

  get #compactionId(): string {
    return `compaction-${this.#compactions}`;
  }

  #compacting(): SessionUpdate[] {
    this.#compactions += 1;
    this.#isCompacting = true;
    if (!this.#options.client.session?.compaction) return [];
    return [{ sessionUpdate: 'compaction_update', compactionId: this.#compactionId, status: 'in_progress' }];
  }

  #compacted(status: 'completed' | 'failed', error?: string): SessionUpdate[] {
    if (!this.#isCompacting) this.#compactions += 1;
    this.#isCompacting = false;
    if (!this.#options.client.session?.compaction) return [];
    const why = error === undefined ? {} : { error };
    return [{ sessionUpdate: 'compaction_update', compactionId: this.#compactionId, status, ...why }];
  }

  #ended(event: Extract<DurableEvent, { type: 'run_ended' }>): SessionUpdate[] {
    const { status, message } = event;
    if (message === undefined || STOP_REASONS[status] === 'cancelled' || STOP_REASONS[status] === null) return [];
    if (status === 'completed') return [];
    const notices = this.#notice('warning', message);
    return notices.length > 0 ? notices : [chunk('agent_message_chunk', `\n\n[${message}]`)];
  }

  #notice(severity: 'info' | 'warning', title: string): SessionUpdate[] {
    return this.#options.client.session?.notices ? [{ sessionUpdate: 'notice', severity, title }] : [];
  }
}

const chunk = (
  sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk',
  text: string,
  messageId?: string,
): SessionUpdate => ({ sessionUpdate, content: { type: 'text', text }, ...(messageId && { messageId }) });

function permissionUpdates(event: DurableEvent): readonly PermissionUpdate[] {
  if (event.type === 'approval_answered') return event.updatedPermissions ?? [];
  return event.type === 'input_received' && event.input.type === 'permission_updates' ? event.input.updates : [];
}

const planEntries = (plan: Plan | null) =>
  (plan?.steps ?? []).map(({ description, completed }, index) => ({
    content: description,
    priority: 'medium' as const,
    status: completed
      ? ('completed' as const)
      : index === plan?.currentStep
        ? ('in_progress' as const)
        : ('pending' as const),
  }));

/** A call that the provider has made itself. */
function providerCall(block: AssistantContent): SessionUpdate[] {
  if (block.type === 'provider_tool_call') {
    const { callId, name } = block;
    const facts = { title: name, name, kind: 'other' as const, status: 'in_progress' as const };
    return [{ sessionUpdate: 'tool_call', toolCallId: callId, ...facts, rawInput: block.arguments }];
  }
  if (block.type !== 'provider_tool_result') return [];
  const status = block.isError ? 'failed' : 'completed';
  return [{ sessionUpdate: 'tool_call_update', toolCallId: block.callId, status }];
}
