import type { Session } from '@treadle/core';

import type { SdkAgent } from '../agent/agent.ts';
import type { Kept } from '../conversation.ts';
import type { SdkOptions } from '../options.ts';
import type { messageProjection } from '../wire/messages.ts';

/** What there is once a session is open. */
export interface Opened {
  readonly session: Session;
  readonly sdk: SdkAgent;
  readonly options: SdkOptions;
  readonly kept: Kept;
  readonly folder: string;
  /** What the client is told of the session, and may change. */
  readonly told: { mode: string };
  readonly projection: ReturnType<typeof messageProjection>;
}
