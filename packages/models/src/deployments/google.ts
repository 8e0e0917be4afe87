import type { Model } from '@treadle/core';
import { GOOGLE_ROWS } from '../catalogue/rows/google.ts';
import { gemini } from '../protocols/gemini/protocol.ts';
import type { GeminiQuirks } from '../protocols/gemini/quirks.ts';
import { deploymentModel, type Deployment, type ModelOptions } from './deployment.ts';

/** Options of a model of the Gemini API. */
export interface GoogleOptions extends ModelOptions {
  /** Sends the key in the URL instead of in a header, for servers that know no other way. URLs end up in logs. */
  readonly keyInUrl?: boolean;
  readonly quirks?: GeminiQuirks;
}

const deploymentOf = (quirks: GeminiQuirks | undefined): Deployment => ({
  name: 'google',
  protocol: gemini(quirks),
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  version: 'v1beta',
  keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
  baseUrlVariable: ['GOOGLE_BASE_URL', 'GEMINI_BASE_URL'],
  auth: { header: 'x-goog-api-key', prefix: '' },
  catalogue: GOOGLE_ROWS,
});

/** Google's Gemini API. */
export const GOOGLE: Deployment = deploymentOf(undefined);

/**
 * A model of Google's Gemini API.
 *
 * @throws TreadleError `invalid_definition` without a key: set `GEMINI_API_KEY` or pass `apiKey`.
 * @example
 * ```ts
 * import { google } from '@treadle/models/google';
 *
 * const model = google('gemini-2.5-flash', { apiKey: 'your-key' });
 * ```
 */
export function google(modelId: string, options: GoogleOptions = {}): Model {
  const { keyInUrl = false, quirks, ...rest } = options;
  const row = quirks === undefined ? GOOGLE : deploymentOf(quirks);
  return deploymentModel(keyInUrl ? { ...row, auth: { ...row.auth, query: 'key' } } : row, modelId, rest);
}
