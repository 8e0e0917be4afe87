import type { Agent, JsonObject, Model, Session } from '@treadle/core';

import type { KeyGuard } from '../../cli/asking/keys.ts';
import type { CliIo } from '../../cli/io.ts';
import type { SdkAgent } from '../agent/agent.ts';
import type { ServerPool } from '../agent/server-pool.ts';
import type { ClientServers } from '../client/servers.ts';
import type { SdkOptions } from '../options.ts';
import type { oneAtATime } from '../one-at-a-time.ts';
import type { Kept } from '../resume.ts';
import type { Sources } from '../settings/sources.ts';
import type { messageProjection } from '../wire/messages.ts';

/** What there is once a session is open. */
export interface Opened {
  /** As it is now: a change of servers or settings opens it anew, with another agent. */
  readonly session: Session;
  readonly sdk: SdkAgent;
  readonly options: SdkOptions;
  readonly kept: Kept;
  readonly folder: string;
  /** With the variables of settings. */
  readonly io: CliIo;
  readonly guard: KeyGuard;
  readonly pool: ServerPool;
  readonly clients: ClientServers;
  /** By the name that a client knows; an empty one is the model of the environment. */
  readonly loadModel: (name: string) => Promise<Model>;
  /** What the client is told of the session, and may change. */
  readonly told: { mode: string };
  /** Settings that the client has given since the start: replaced as a whole, by one change after the other. */
  readonly flags: { settings: JsonObject; readonly inTurn: ReturnType<typeof oneAtATime> };
  readonly projection: ReturnType<typeof messageProjection>;
  /** Takes what has changed since the agent was made: before each turn. */
  refresh(): Promise<void>;
  /**
   * The agent of the session, were these the settings that the client gave since the start, and all settings that act then.
   *
   * @throws UsageError for what can't be used.
   */
  agentWith(settings: JsonObject): Promise<{ readonly agent: Agent; readonly settings: Sources['settings'] }>;
}
