import type { FilesGeneratedEvent } from '@treadle/core/events';
import { type RunResultFold, runResultFold } from '@treadle/core/projections';
import type {
  AssistantMessage,
  DurableEvent,
  FileBlock,
  JsonObject,
  JsonValue,
  Message,
  PendingCall,
  ToolResultContent,
  TreadleEvent,
} from '@treadle/core';
import {
  endMessage,
  NOTHING,
  replyFold,
  type BlockPlace,
  type Encoder,
  type Frame,
  type ReplyPart,
  type StreamEvent,
  type StreamFormat,
} from '@treadle/server';

/** Options of the formats of browser-tool relays. */
export interface RelayOptions {
  /** True streams `meta_final`, the history in `meta_init`, and the results that the client itself has sent. */
  readonly history?: boolean;
  /** The conversation before the run, for `meta_init`. */
  readonly messages?: readonly Message[];
  /** What happened in the run before this stream, so that `meta_final` and `meta_files` know all of it. */
  readonly past?: readonly DurableEvent[];
}

/** Who says something: the session, or that of a sub-agent. */
export interface Speaker {
  readonly agent: string;
  /** The session whose stream it is, when a sub-agent says it. */
  readonly parent: string | null;
}

/** What the formats of browser-tool relays tell, each in its own syntax. */
export type RelayItem =
  | { readonly type: 'meta_init' | 'meta_files' | 'meta_final'; readonly data: JsonObject }
  /** A block of the reply begins, goes on with `text`, or ends. */
  | (BlockPlace & {
      readonly type: 'text' | 'thinking';
      readonly step: 'start' | 'delta' | 'end';
      readonly text: string;
    })
  | {
      readonly type: 'tool_call' | 'server_tool_call';
      readonly id: string;
      readonly name: string;
      readonly input: JsonValue;
    }
  | {
      readonly type: 'tool_result';
      readonly id: string;
      readonly name: string;
      readonly content: readonly ToolResultContent[];
    }
  | { readonly type: 'server_tool_result'; readonly id: string; readonly name: string; readonly raw: JsonObject }
  | { readonly type: 'citations'; readonly citations: readonly JsonValue[] }
  | { readonly type: 'awaiting_frontend_tools' | 'awaiting_approvals'; readonly tools: readonly JsonObject[] }
  /** What was streamed of the open message is void. */
  | { readonly type: 'discarded' }
  | { readonly type: 'error'; readonly message: string }
  | { readonly type: 'message_start'; readonly messageId: string }
  | { readonly type: 'message_end'; readonly message: AssistantMessage };

/** Writes items in one format's syntax. */
export type RelayWriter = (item: RelayItem, speaker: Speaker) => readonly Frame[];

/** Makes a format of a syntax. `name` is what `meta_init` calls it. Each connection has a writer of its own. */
export function relayFormat(name: string, options: RelayOptions, writer: () => RelayWriter): StreamFormat {
  return {
    name: `relay-${name}`,
    contentType: 'text/event-stream',
    headers: { 'cache-control': 'no-cache' },
    ids: false,
    encoder: () => relayEncoder(name, options, writer()),
  };
}

/** The line that closes a stream. */
const DONE: Frame = { data: '[DONE]' };

function relayEncoder(
  format: string,
  { history = false, past = [], messages = [] }: RelayOptions,
  write: RelayWriter,
): Encoder {
  const replies = replyFold();
  const queries = new Map<number, string>();
  /** Messages whose beginning was told, by run. */
  const begun = new Map<string, string>();
  /** The files of the provider's own tools. */
  const generated = new Map<string, JsonObject>();
  let session = '';
  let root: string | undefined;
  let result: RunResultFold | undefined;

  const own = (): Speaker => ({ agent: session, parent: null });

  function reply(part: ReplyPart): RelayItem[] {
    const { runId } = part;
    const messageId = part.type === 'reply_ended' ? part.message.id : part.messageId;
    const items: RelayItem[] = [];
    if (part.type !== 'reply_void' && begun.get(runId) !== messageId) {
      begun.set(runId, messageId);
      items.push({ type: 'message_start', messageId });
    }
    items.push(...replyItems(part));
    if (part.type === 'reply_ended' || part.type === 'reply_void') begun.delete(runId);
    return items;
  }

  function ofRun(event: TreadleEvent, speaker: Speaker): RelayItem[] {
    switch (event.type) {
      case 'run_started':
        return [{ type: 'meta_init', data: init(event, speaker) }];
      case 'tool_ended':
      case 'tool_call_rejected':
        // What the client has sent it knows.
        if (event.type === 'tool_ended' && event.inputSeq !== undefined && !history) return [];
        if (event.callId === '') return [];
        return [{ type: 'tool_result', id: event.callId, name: event.toolName, content: event.content }];
      case 'run_paused':
        return waits(event.pending);
      case 'run_ended':
        return ended(event);
      default:
        return [];
    }
  }

  function init(event: Extract<TreadleEvent, { type: 'run_started' }>, { agent, parent }: Speaker): JsonObject {
    return {
      format,
      user_query: queries.get(event.inputSeq) ?? '',
      agent_uuid: agent,
      ...(parent === null ? {} : { parent_agent_uuid: parent }),
      model: event.config.model,
      ...(history && parent === null ? { message_history: messages as unknown as JsonValue } : {}),
    };
  }

  /** A stream that goes on with a run begins as the run's first one did. */
  function resumed(): readonly Frame[] {
    const started = past.find((event) => event.type === 'run_started' && event.runId === root);
    return started?.type === 'run_started' ? write({ type: 'meta_init', data: init(started, own()) }, own()) : NOTHING;
  }

  function ended(event: Extract<TreadleEvent, { type: 'run_ended' }>): RelayItem[] {
    if (event.runId !== root) return [];
    const run = result?.result();
    const files = (run?.files ?? []).map((file) => generated.get(keyOf(file)) ?? fileEntry(file));
    const completed = event.status === 'completed';
    return [
      ...(completed ? [] : [{ type: 'error' as const, message: event.message ?? `The run ended as ${event.status}.` }]),
      ...(files.length > 0 ? [{ type: 'meta_files' as const, data: { files } }] : []),
      ...(history && completed && run
        ? [
            {
              type: 'meta_final' as const,
              data: {
                conversation_history: run.messages as unknown as JsonValue,
                stop_reason: run.stopReason,
                total_steps: run.turns,
                generated_files: files,
                cost: run.cost,
                cumulative_usage: { ...run.usage },
              },
            },
          ]
        : []),
    ];
  }

  function remember(event: DurableEvent): void {
    if (!('runId' in event) || event.runId === undefined) return;
    root ??= event.runId;
    if (event.runId !== root) return;
    (result ??= runResultFold(root)).take(event);
    if (event.type === 'files_generated')
      for (const file of event.files) generated.set(keyOf(file), registered(event, file));
  }

  function event(event: StreamEvent): readonly Frame[] {
    if (event.type === 'snapshot') return NOTHING;
    if (event.type === 'child_event') return told(event.event, { agent: event.sessionId, parent: session });
    if (event.type === 'input_received' && event.input.type === 'prompt') {
      queries.set(event.seq, queryOf(event.input.messages));
    }
    if ('seq' in event) remember(event);
    return told(event, own());
  }

  function told(event: TreadleEvent, speaker: Speaker): readonly Frame[] {
    if (!('runId' in event) || event.runId === undefined) return NOTHING;
    root ??= event.runId;
    // Another run of the same session is not this stream's.
    if (speaker.parent === null && event.runId !== root) return NOTHING;
    const items = [...replies.take(event).flatMap(reply), ...ofRun(event, speaker)];
    return items.length === 0 ? NOTHING : items.flatMap((item) => write(item, speaker));
  }

  return {
    begin({ sessionId, runId }) {
      session = sessionId;
      root = runId;
      for (const event of past) {
        if (event.type === 'input_received' && event.input.type === 'prompt')
          queries.set(event.seq, queryOf(event.input.messages));
        remember(event);
      }
      return resumed();
    },
    event,
    end(end) {
      if (end.reason === 'finished') return [DONE];
      return [...write({ type: 'error', message: endMessage(end) }, own()), DONE];
    },
  };
}

/** Tools that the browser runs, and questions that a person answers, are two kinds of waiting. */
function waits(pending: readonly PendingCall[]): RelayItem[] {
  const asked = pending.filter(({ approvalId }) => approvalId !== undefined);
  const tools = pending.filter(({ approvalId }) => approvalId === undefined);
  const named = ({ callId, toolName, arguments: input }: PendingCall) => ({
    tool_use_id: callId,
    name: toolName,
    input,
  });
  return [
    ...(tools.length > 0 ? [{ type: 'awaiting_frontend_tools' as const, tools: tools.map(named) }] : []),
    ...(asked.length > 0
      ? [
          {
            type: 'awaiting_approvals' as const,
            tools: asked.map((call) => ({ approval_id: call.approvalId ?? '', ...named(call) })),
          },
        ]
      : []),
  ];
}

const STEPS = { block_started: 'start', block_delta: 'delta', block_ended: 'end' } as const;

function replyItems(part: ReplyPart): RelayItem[] {
  switch (part.type) {
    case 'block_started':
    case 'block_delta':
    case 'block_ended': {
      // The input of a call is told when it is whole.
      if (part.kind === 'call') return [];
      const { runId, messageId, index } = part;
      const text = part.type === 'block_delta' ? part.text : '';
      return [{ type: part.kind, step: STEPS[part.type], runId, messageId, index, text }];
    }
    case 'block':
      return providerItems(part.block);
    case 'reply_void':
      return [{ type: 'discarded' }];
    case 'reply_ended':
      return [...part.message.content.flatMap(finishedItems), { type: 'message_end', message: part.message }];
  }
}

function finishedItems(block: AssistantMessage['content'][number]): RelayItem[] {
  if (block.type === 'tool_call')
    return [{ type: 'tool_call', id: block.callId, name: block.name, input: block.argumentsText ?? block.arguments }];
  if (block.type === 'text' && block.citations) return [{ type: 'citations', citations: block.citations }];
  return [];
}

function providerItems(block: AssistantMessage['content'][number]): RelayItem[] {
  if (block.type === 'provider_tool_call')
    return [{ type: 'server_tool_call', id: block.callId, name: block.name, input: block.arguments }];
  if (block.type === 'provider_tool_result')
    // Clients tell results of providers by the type of the block.
    return [{ type: 'server_tool_result', id: block.callId, name: typeOf(block.raw, block.name), raw: block.raw }];
  return [];
}

const typeOf = (raw: JsonObject, otherwise: string): string =>
  typeof raw['type'] === 'string' ? raw['type'] : otherwise;

/** The prompt for people: images and files are named by what they are. */
function queryOf(messages: readonly { readonly content: unknown }[]): string {
  return messages
    .map(({ content }) => {
      if (typeof content === 'string') return content;
      if (!Array.isArray(content)) return '';
      return (content as readonly ToolResultContent[])
        .map((block) => (block.type === 'text' ? block.text : `[${block.type}: ${block.mediaType}${sizeOf(block)}]`))
        .join('\n');
    })
    .join('\n');
}

function sizeOf({ data }: { readonly data?: string }): string {
  if (data === undefined) return '';
  const kilobytes = (data.length * 3) / 4 / 1024;
  return kilobytes < 1024 ? `, ${kilobytes.toFixed(1)} KB` : `, ${(kilobytes / 1024).toFixed(1)} MB`;
}

const fileEntry = (file: FileBlock): JsonObject => ({
  file_id: file.fileId ?? null,
  filename: file.name ?? null,
  media_type: file.mediaType,
  storage_backend: file.provider ?? (file.url === undefined ? 'inline' : 'url'),
  ...(file.url === undefined ? {} : { storage_location: file.url }),
});

const keyOf = ({ provider = '', fileId = '' }: Pick<FileBlock, 'provider' | 'fileId'>): string =>
  `${provider}\0${fileId}`;

/** A file of the provider's own tools, with where it is kept. Steps count from 1. */
const registered = ({ at, backend }: FilesGeneratedEvent, file: FilesGeneratedEvent['files'][number]): JsonObject => ({
  file_id: file.fileId,
  filename: file.name ?? null,
  media_type: file.mediaType ?? 'application/octet-stream',
  size: file.blob?.size ?? null,
  storage_backend: file.blob ? backend : 'none',
  storage_location: file.blob?.id ?? null,
  first_seen_step: file.firstTurn + 1,
  last_seen_step: file.lastTurn + 1,
  timestamp: at,
  is_update: file.isUpdate,
  ...(file.error === undefined ? {} : { error: file.error }),
});
