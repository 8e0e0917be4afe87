import { textsOf } from '../messages/final-text.ts';
import { canonicalJson } from '../canonical.ts';
import type { DurableEvent, InputMessage, RunStatus } from '../events/events.ts';
import type { Journal } from '../journal/journal.ts';
import type { JsonObject } from '../json.ts';
import type { ToolResultContent } from '../messages/content.ts';
import type { AssistantMessage } from '../messages/message.ts';
import type { Model, ModelBlock, ModelEvent } from '../model/model.ts';

/** What a call got. */
export interface RecordedResult {
  readonly toolName: string;
  /** As it ran, or as the model wrote them where it never did. */
  readonly arguments: JsonObject;
  readonly content: readonly ToolResultContent[];
  readonly isError: boolean;
}

export interface RecordedTurn {
  readonly startedSeq: number;
  /** Null when no reply came. */
  message: AssistantMessage | null;
  /** In the order in which they came. */
  readonly results: RecordedResult[];
}

/** A run as a replay needs it. */
export interface RecordedRun {
  readonly runId: string;
  readonly startedSeq: number;
  /** Null for a run that went on without a prompt. */
  readonly messages: readonly InputMessage[] | null;
  readonly turns: readonly RecordedTurn[];
  /** Turns before those in `turns`. */
  readonly skipped: number;
  /** What was delivered while it was under way, and at which turn. */
  readonly later: readonly {
    readonly turn: number;
    readonly kind: 'steering' | 'follow_up';
    readonly message: InputMessage;
  }[];
  readonly status: RunStatus | null;
}

interface Draft extends RecordedRun {
  readonly turns: RecordedTurn[];
  readonly later: RecordedRun['later'][number][];
  status: RunStatus | null;
}

/** The runs of a session, oldest first, with what a fork shares with its parent. */
export async function readRuns(journal: Journal, sessionId: string): Promise<RecordedRun[]> {
  const asked = new Map<number, readonly InputMessage[]>();
  const called = new Map<string, JsonObject>();
  const runs: Draft[] = [];
  for await (const event of journal.read(sessionId, 1)) {
    if (event.type === 'input_received' && event.input.type === 'prompt') asked.set(event.seq, event.input.messages);
    if (event.type === 'run_started') {
      const { runId, seq: startedSeq, inputSeq } = event;
      const messages = asked.get(inputSeq) ?? null;
      runs.push({ runId, startedSeq, messages, turns: [], skipped: 0, later: [], status: null });
    }
    const run = runs.at(-1);
    if (run && 'runId' in event && event.runId === run.runId) takeEvent(run, event, called);
  }
  return runs;
}

function takeEvent(run: Draft, event: DurableEvent, called: Map<string, JsonObject>): void {
  const turn = run.turns.at(-1);
  if (event.type === 'turn_started') {
    if (run.turns.length === event.turnIndex) run.turns.push({ startedSeq: event.seq, message: null, results: [] });
  } else if (event.type === 'message_added') {
    const { message } = event;
    if (message.role === 'assistant' && event.inView && turn) {
      turn.message = message;
      for (const block of message.content) if (block.type === 'tool_call') called.set(block.callId, block.arguments);
    } else if (message.role === 'user' && (message.origin === 'steering' || message.origin === 'follow_up')) {
      run.later.push({ turn: run.turns.length - 1, kind: message.origin, message: { content: message.content } });
    }
  } else if (event.type === 'tool_started') {
    called.set(event.callId, event.arguments);
  } else if (event.type === 'tool_ended' || event.type === 'tool_call_rejected') {
    if (event.type === 'tool_call_rejected' && !GIVEN.has(event.reason)) return;
    const isError = event.type === 'tool_call_rejected' || event.isError;
    const { toolName, content } = event;
    turn?.results.push({ toolName, arguments: called.get(event.callId) ?? {}, content, isError });
  } else if (event.type === 'run_ended') run.status = event.status;
}

/** Refusals that came from outside; the others come again by themselves. */
const GIVEN: ReadonlySet<string> = new Set(['denied', 'hook', 'in_doubt', 'expired', 'cancelled', 'sub_agent_limit']);

/** A model that replies what was replied, and asks nobody. */
export function recordedModel(of: Model, runs: readonly RecordedRun[]): Model {
  const replies = runs.flatMap(({ turns }) => turns.flatMap(({ message }) => (message ? [message] : [])));
  return {
    ...of,
    provider: of.provider,
    id: of.id,
    stream: () => ({
      async *[Symbol.asyncIterator](): AsyncGenerator<ModelEvent> {
        const message = replies.shift();
        if (!message || message.stopReason === 'error' || message.stopReason === 'aborted') {
          const text = 'The recording has no more replies.';
          yield { type: 'error', error: { kind: 'other', message: text, retryable: false } };
          return;
        }
        yield { type: 'start' };
        for (const [index, block] of message.content.entries())
          yield { type: 'block_end', index, block: asModelBlock(block) };
        yield { type: 'finish', stopReason: message.stopReason, usage: message.usage };
      },
    }),
  };
}

function asModelBlock(block: AssistantMessage['content'][number]): ModelBlock {
  if (block.type !== 'tool_call') return block;
  const { name, callId, providerCallId = callId } = block;
  return {
    type: 'tool_call',
    providerCallId,
    name,
    argumentsText: block.argumentsText ?? JSON.stringify(block.arguments),
  };
}

/** One thing that came out otherwise. */
export interface ReplayDifference {
  /** The recorded run, and its turn from 0; null for the run as a whole. */
  readonly runId: string;
  readonly turn: number | null;
  readonly what: 'text' | 'calls' | 'turns' | 'end';
  readonly recorded: string;
  readonly replayed: string;
}

/** What a run came to when it was replayed, beside what it came to then. */
export function differencesOf(
  recorded: RecordedRun,
  replayed: RecordedRun | undefined,
  status: RunStatus | 'paused',
): ReplayDifference[] {
  const { runId } = recorded;
  const found: ReplayDifference[] = [];
  const compare = (turn: number | null, what: ReplayDifference['what'], a: string, b: string): void => {
    if (a !== b) found.push({ runId, turn, what, recorded: a, replayed: b });
  };
  const again = replayed?.turns ?? [];
  recorded.turns.forEach((turn, index) => {
    const other = again[index];
    if (!other) return;
    compare(index + recorded.skipped, 'text', textOf(turn), textOf(other));
    compare(index + recorded.skipped, 'calls', callsOf(turn), callsOf(other));
  });
  compare(null, 'turns', String(recorded.turns.length), String(again.length));
  compare(null, 'end', recorded.status ?? 'open', status);
  return found;
}

const textOf = ({ message }: RecordedTurn): string => textsOf(message?.content ?? []).join('');

const callsOf = ({ message }: RecordedTurn): string =>
  message?.content
    .flatMap((block) => (block.type === 'tool_call' ? [`${block.name}(${canonicalJson(block.arguments)})`] : []))
    .join(', ') ?? '';
