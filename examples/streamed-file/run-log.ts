import type { DurableEvent, JsonObject, JsonValue, TreadleEvent } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { generateCodeFormat, type GenerateCodeMessage } from '@treadle/formats';
import type { Frame } from '@treadle/server';

/** A message of the protocol, or one of those that only readers of a project get. */
export type Told =
  | GenerateCodeMessage
  | {
      readonly type: 'runStarted' | 'runEnded' | 'shown';
      readonly variantIndex: number;
      readonly data: JsonObject;
    };

/** What one run of a variant tells its readers, and the short form of it for a reader who comes later. */
export interface RunLog {
  /** The code it began with; null for a new page. */
  readonly startCode: string | null;
  /** The code that it left; `startCode` until it has ended. */
  readonly code: string | null;
  /** The file as its calls have left it up to now. */
  readonly fileSoFar: string | null;
  /** True once it has told of its end. */
  readonly isOver: boolean;
  /** True when it completed. */
  readonly succeeded: boolean;
  /** What the user asked for. */
  begin(asked: JsonObject): readonly Told[];
  event(event: TreadleEvent): readonly Told[];
  /** Ends it where the session tells nothing more. */
  fail(message: string): readonly Told[];
  /** All of it, each text in one message and the code only once. */
  recap(): readonly Told[];
}

export const frameOf = (told: Told): Frame => ({ data: JSON.stringify(told) });

export function createRunLog(variantIndex: number, startCode: string | null): RunLog {
  const encoder = generateCodeFormat({ variantIndex, startCode }).encoder();
  const told: Told[] = [];
  let shown: Told | null = null;
  let end: readonly Told[] = [];
  let code = startCode;
  let fileSoFar = startCode;
  let succeeded = false;
  let startedAt: number | null = null;
  let runId: string | null = null;

  function keep(message: GenerateCodeMessage): void {
    if (message.type === 'setCode') {
      shown = message;
      return;
    }
    const last = told.at(-1);
    if (last && 'eventId' in last && isText(message) && last.eventId === message.eventId) {
      told[told.length - 1] = { ...last, value: `${last.value}${message.value}` };
    } else if (!isEnd(message)) told.push(message);
  }

  function take(frames: readonly Frame[], event: TreadleEvent | null): readonly Told[] {
    const messages = frames.map(({ data }) => JSON.parse(data) as GenerateCodeMessage);
    for (const message of messages) keep(message);
    const last = messages.find(isEnd);
    if (!last) return messages;
    succeeded = last.type === 'variantComplete';
    // A run that failed leaves the code of its last successful call, and tells of it together with its end.
    code = messages.findLast(({ type }) => type === 'setCode')?.value ?? startCode;
    end = [last, { type: 'runEnded', variantIndex, data: { ...endOf(event), isChanged: code !== startCode } }];
    return [...messages, ...end.slice(1)];
  }

  function endOf(event: TreadleEvent | null): JsonObject {
    if (event?.type !== 'run_ended') return {};
    const { usage, cost, status, at } = event;
    const tokens = usage.input === null || usage.output === null ? null : { in: usage.input, out: usage.output };
    return { status, cost, tokens, durationMs: startedAt === null ? null : at - startedAt };
  }

  return {
    startCode,
    get code() {
      return code;
    },
    get fileSoFar() {
      return fileSoFar;
    },
    get isOver() {
      return end.length > 0;
    },
    get succeeded() {
      return succeeded;
    },
    begin(asked) {
      told.push({ type: 'runStarted', variantIndex, data: asked });
      return [...told, ...take(encoder.begin({ sessionId: '', resumed: false }), null)];
    },
    event(event) {
      if (event.type === 'run_started' && runId === null) ({ runId, at: startedAt } = event);
      // The run before may have been cut off, and is ended first.
      if ('runId' in event && event.runId !== undefined && event.runId !== runId) return [];
      if (event.type === 'tool_ended' && !event.isError) fileSoFar = updatedIn(event.details) ?? fileSoFar;
      return take(encoder.event(event), event);
    },
    fail: (message) => take(encoder.end({ reason: 'failed', code: 'internal', message }), null),
    recap: () => [...told, ...(shown === null ? [] : [shown]), ...end],
  };
}

function updatedIn(details: JsonValue | undefined): string | null {
  const content = isJsonObject(details) ? details['updatedContent'] : null;
  return typeof content === 'string' ? content : null;
}

const isText = ({ type }: GenerateCodeMessage): boolean => type === 'assistant' || type === 'thinking';
const isEnd = ({ type }: GenerateCodeMessage): boolean => type === 'variantComplete' || type === 'variantError';

/** What somebody asked for with a run, as `run_started` keeps it. */
export const askedOf = (event: Extract<DurableEvent, { type: 'run_started' }>): JsonObject => event.metadata ?? {};
