import { RequestError } from '@agentclientprotocol/sdk';
import { errorText, TreadleError } from '@treadle/core';

import { UsageError } from '../cli/usage-error.ts';

const INVALID_REQUEST = -32_600;
const INVALID_PARAMS = -32_602;
const INTERNAL = -32_603;

/** What the client is to mend, by the codes of our errors. Everything else is internal. */
const CODES: Readonly<Record<string, number>> = {
  run_active: INVALID_REQUEST,
  session_busy: INVALID_REQUEST,
  nothing_to_continue: INVALID_REQUEST,
  invalid_definition: INVALID_PARAMS,
  empty_prompt: INVALID_PARAMS,
  invalid_messages: INVALID_PARAMS,
};

/** An error as the protocol has it: with words for people, and our code in its data. */
export function requestError(error: unknown, sessionId?: string): unknown {
  if (error instanceof UsageError) return new RequestError(INVALID_PARAMS, cut(error.message));
  if (!(error instanceof TreadleError)) {
    // Cancelled requests and closed connections are the SDK's to answer.
    const isOthers = error instanceof RequestError || (error instanceof Error && error.name === 'AbortError');
    return isOthers ? error : new RequestError(INTERNAL, cut(errorText(error)));
  }
  if (error.code === 'session_not_found' && sessionId !== undefined) return RequestError.sessionNotFound(sessionId);
  return new RequestError(CODES[error.code] ?? INTERNAL, cut(error.message), { code: error.code });
}

const MOST = 2000;

/** A message may quote what was sent. */
const cut = (text: string): string => (text.length > MOST ? `${text.slice(0, MOST)}…` : text);
