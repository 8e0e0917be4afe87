import { errorText, TreadleError, type Model } from '@treadle/core';
import type { ModelEvent } from '@treadle/core/model';
import { resolveModel, type ModelOptions } from '@treadle/models';
import { demoModel } from './demo/index.ts';

/**
 * The model of a name such as `anthropic/claude-sonnet-5-5`, or `demo`, which needs no key. The name is checked at once.
 * Keys are read at the first call, so that an agent can be defined where there are none.
 *
 * @throws TreadleError `invalid_definition` for an unknown provider or an unusable base URL.
 * @example
 * ```ts
 * import { defineAgent, model } from 'treadle';
 *
 * const agent = defineAgent({ model: model('anthropic/claude-sonnet-5-5'), instructions: 'Answer briefly.' });
 * console.log(agent.model.provider); // anthropic
 * ```
 */
export function model(name: string, options: ModelOptions = {}): Model {
  if (typeof name !== 'string') {
    throw new TreadleError('invalid_definition', "model takes a name. Write: model('anthropic/claude-sonnet-5-5')");
  }
  if (name === 'demo') return demoModel();
  let made: Model | undefined;
  const real = (): Model => (made ??= resolveModel(name, options));
  // What is known of a model is known without its key.
  const known = resolveModel(name, { credentials: { authorize: () => ({}) }, ...options });
  const { files } = known;
  return {
    ...known,
    stream(request, signal) {
      try {
        return real().stream(request, signal);
      } catch (thrown) {
        return failing(errorText(thrown));
      }
    },
    ...(files && { files: { read: (fileId, how) => (real().files ?? files).read(fileId, how) } }),
  };
}

/** A call that could not be made: the loop reports it as any other failure of a model. */
async function* failing(message: string): AsyncGenerator<ModelEvent> {
  yield { type: 'error', error: { kind: 'auth', message, retryable: false } };
}
