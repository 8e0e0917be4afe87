import { systemClock, TreadleError, type Clock, type Model } from '@treadle/core';
import type { ModelEvent, ModelRequest } from '@treadle/core/model';
import { CATALOGUE } from '../catalogue/catalogue.ts';
import { modelFacts } from '../catalogue/facts.ts';
import type { CatalogueRow } from '../catalogue/row.ts';
import { defined } from '@treadle/core/json';
import { sdkError } from './error.ts';
import { createOptionsWriter } from './prompt.ts';
import { createPartReader } from './parts.ts';
import type { AiSdkLanguageModel, CallOptions, StreamPart } from './types.ts';

/** What is known of a model of the AI SDK besides what it says itself. */
export interface AiSdkOptions {
  /** Tokens the model can take in all. Default: what the catalogue says. */
  readonly contextWindow?: number;
  /** Rows of your own. They come first. */
  readonly catalogue?: readonly CatalogueRow[];
  readonly clock?: Clock;
}

/** Providers by the names that the AI SDK's packages have for them, where the catalogue has another. */
const CATALOGUE_NAMES: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'bedrock',
  'google.vertex': 'vertex',
  moonshotai: 'moonshot',
  togetherai: 'together',
};

const catalogueName = (provider: string): string => {
  const [first = '', second = ''] = provider.split('.');
  return CATALOGUE_NAMES[`${first}.${second}`] ?? CATALOGUE_NAMES[first] ?? first;
};

/** Resolves when the signal fires, until `stop` is called. */
const whenAborted = (signal: AbortSignal): { readonly aborted: Promise<null>; stop(): void } => {
  const { promise, resolve } = Promise.withResolvers<null>();
  const listener = (): void => resolve(null);
  if (signal.aborted) resolve(null);
  else signal.addEventListener('abort', listener, { once: true });
  return { aborted: promise, stop: () => signal.removeEventListener('abort', listener) };
};

/**
 * A model of any provider that the AI SDK has: a language model of its interface of version 4 or 3. What a part carries
 * back to its provider (`providerMetadata`, such as a signature) is kept and returned.
 *
 * @throws TreadleError `invalid_definition` for anything else.
 * @example
 * ```ts
 * import { aiSdkModel } from '@treadle/models/ai-sdk';
 *
 * const languageModel = { specificationVersion: 'v4', provider: 'cohere.chat', modelId: 'command-a' } as const;
 * const stream = new ReadableStream();
 * const model = aiSdkModel({ ...languageModel, doStream: async () => ({ stream }) }); // or createCohere()('command-a')
 * console.log(`${model.provider}/${model.id}`); // cohere.chat/command-a
 * ```
 */
export function aiSdkModel(languageModel: AiSdkLanguageModel, options: AiSdkOptions = {}): Model {
  const { specificationVersion: version, modelId: id, doStream } = languageModel;
  if (typeof doStream !== 'function' || (version !== 'v3' && version !== 'v4')) {
    throw new TreadleError(
      'invalid_definition',
      `aiSdkModel takes a language model of the AI SDK with version v3 or v4 of its interface, and this one has ${JSON.stringify(version)}.`,
    );
  }
  const provider = languageModel.provider.toLowerCase();
  const { clock = systemClock } = options;
  const optionsOf = createOptionsWriter(provider, version);

  async function* events(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    if (signal.aborted) return;
    const reader = createPartReader();
    const end = whenAborted(signal);
    let parts: ReadableStreamDefaultReader<StreamPart> | undefined;
    try {
      const call = languageModel.doStream.bind(languageModel) as (
        call: CallOptions,
      ) => PromiseLike<{ readonly stream: ReadableStream<StreamPart> }>;
      const opened = await Promise.race([call(optionsOf(request, signal)), end.aborted]);
      if (opened === null) return;
      parts = opened.stream.getReader();
      for (;;) {
        const next = await Promise.race([parts.read(), end.aborted]);
        if (next === null) return;
        const read = next.done ? reader.ended() : reader.read(next.value, clock.now());
        for (const event of read) {
          yield event;
          if (event.type === 'finish' || event.type === 'error') return;
        }
      }
    } catch (error) {
      if (!signal.aborted) yield { type: 'error', error: sdkError(error, clock.now()) };
    } finally {
      end.stop();
      // Whoever leaves early closes the connection.
      await parts?.cancel().catch(() => undefined);
    }
  }

  const facts = modelFacts(catalogueName(provider), id, options.catalogue, CATALOGUE, clock);
  return {
    provider,
    id,
    ...facts,
    ...defined({ contextWindow: options.contextWindow ?? facts.contextWindow }),
    stream(request, signal) {
      const iterator = events(request, signal);
      return { [Symbol.asyncIterator]: () => iterator };
    },
  };
}
