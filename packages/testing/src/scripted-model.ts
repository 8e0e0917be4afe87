import { type Clock, type Model, type ModelError, type Usage, errorText, systemClock } from '@treadle/core';
import type { ModelEvent, ModelRequest } from '@treadle/core/model';
import { nextEvent } from './pause.ts';
import { type Script, outOfTurns, takeTurn } from './script.ts';
import { type Pause, DEFAULT_CHUNK_SIZE, playTurn } from './turns.ts';

/** Options of {@link scriptedModel}. */
export interface ScriptedModelOptions {
  /** Default `scripted`. */
  readonly provider?: string;
  /** Default `scripted`. */
  readonly id?: string;
  readonly contextWindow?: number;
  /** What the model says it can do. Default: nothing is said. */
  readonly structuredOutput?: Model['structuredOutput'];
  readonly toolCalling?: boolean;
  /** UTF-16 code units per delta. Default 16; `Infinity` streams each block as one delta. */
  readonly chunkSize?: number;
  /** The clock of the turns' delays. Default: the machine's. */
  readonly clock?: Clock;
  /** US dollars of a usage. Default: unknown. */
  readonly cost?: (usage: Usage) => number | null;
  /** False keeps no requests, for long runs. Default true. */
  readonly record?: boolean;
}

/** A model that answers from a script. */
export interface ScriptedModel extends Model {
  /** The requests so far, oldest first, each with the messages as they were then. */
  readonly requests: readonly ModelRequest[];
}

const failure = (kind: ModelError['kind'], message: string): ModelEvent => ({
  type: 'error',
  error: { kind, message, retryable: false },
});

async function* streamEvents(
  open: () => Promise<Iterator<ModelEvent | Pause>>,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const steps = await open();
  for (;;) {
    const event = await nextEvent(steps, clock, signal);
    if (signal.aborted) yield failure('cancelled', 'The request was aborted.');
    if (signal.aborted || !event) return;
    yield event;
  }
}

/**
 * A model whose replies are written down beforehand. It streams them in deltas as a real one does, records the requests
 * it gets, honours the abort signal, and fails with a clear message when the script has no turn left. Each call of
 * `stream` uses up one turn, retries too. A turn function that throws is reported as an error event.
 *
 * @example
 * ```ts
 * import { scriptedModel } from '@treadle/testing';
 *
 * const model = scriptedModel([
 *   { text: 'I look it up.', toolCalls: [{ name: 'weather', arguments: { city: 'Oslo' } }] },
 *   'It rains in Oslo.',
 * ]);
 * const request = { system: '', messages: [], tools: [] };
 * let text = '';
 * for await (const event of model.stream(request, new AbortController().signal)) {
 *   if (event.type === 'text_delta') text += event.text;
 * }
 * console.log(text, model.requests.length); // I look it up. 1
 * ```
 */
export function scriptedModel(script: Script<ModelRequest>, options: ScriptedModelOptions = {}): ScriptedModel {
  const { chunkSize = DEFAULT_CHUNK_SIZE, clock = systemClock, record = true, contextWindow, cost } = options;
  const requests: ModelRequest[] = [];
  let calls = 0;

  async function open(request: ModelRequest, index: number): Promise<Iterator<ModelEvent | Pause>> {
    try {
      const turn = await takeTurn(script, request, index);
      if (turn === undefined) return [failure('other', outOfTurns(script.length, index))].values();
      return playTurn(turn, index + 1, chunkSize);
    } catch (thrown) {
      return [failure('other', `Turn ${index + 1} of the script threw: ${errorText(thrown)}`)].values();
    }
  }

  return {
    provider: options.provider ?? 'scripted',
    id: options.id ?? 'scripted',
    ...(contextWindow !== undefined && { contextWindow }),
    ...(options.structuredOutput !== undefined && { structuredOutput: options.structuredOutput }),
    ...(options.toolCalling !== undefined && { toolCalling: options.toolCalling }),
    ...(cost && { cost }),
    requests,
    stream(request, signal) {
      const index = calls++;
      // A run appends to the same array from call to call, so the record needs its own.
      if (record) requests.push({ ...request, messages: [...request.messages] });
      const events = streamEvents(() => open(request, index), clock, signal);
      return { [Symbol.asyncIterator]: () => events };
    },
  };
}
