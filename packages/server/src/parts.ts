import type { Agent, Blobs, Clock, Journal } from '@treadle/core';
import type { AnswerTokens, Redactor } from '@treadle/core/features';
import type { Dispatcher, Ids, LiveFeed } from '@treadle/core/ports';
import type { StreamFormat } from './encoders/encoder.ts';
import type { ServerLimits } from './limits.ts';
import type { Log } from './log.ts';
import type { Authenticate } from './security/tokens.ts';
import type { OriginRules } from './security/origin.ts';
import type { RateLimiter } from './security/rate.ts';
import type { OfferedToolsOptions } from './offered-tools.ts';
import type { Replays } from './replays.ts';
import type { States } from './states.ts';
import type { Connections } from './streams/connections.ts';
import type { Feeds } from './streams/feed.ts';

/** What the parts of a server share. */
export interface ServerParts {
  readonly journal: Journal;
  /** By their names. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly defaultAgent: Agent;
  readonly blobs: Blobs | null;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly dispatcher: Dispatcher;
  readonly live: LiveFeed;
  readonly feeds: Feeds;
  readonly states: States;
  readonly connections: Connections;
  readonly replays: Replays;
  /** Null where clients offer none. */
  readonly offeredTools: Required<OfferedToolsOptions> | null;
  /** Null where none are made. */
  readonly answerTokens: AnswerTokens | null;
  readonly limits: ServerLimits;
  readonly log: Log;
  readonly redactor: Redactor | null;
  readonly authenticate: Authenticate;
  readonly origins: OriginRules;
  readonly requests: RateLimiter;
  readonly failedLogins: RateLimiter;
  readonly formats: ReadonlyMap<string, StreamFormat>;
  /** True once the server takes no more work. */
  readonly isDraining: () => boolean;
}
