import type { Model, Tool } from '@treadle/core';
import type { Plugin } from '@treadle/skills';

import type { KeyGuard } from '../../cli/asking/keys.ts';
import type { CliIo } from '../../cli/io.ts';
import type { Channel } from '../lines/channel.ts';
import type { SdkOptions } from '../options.ts';
import type { Sources } from '../settings/sources.ts';
import type { SwitchedModel } from './models.ts';

/** What an agent is made with. */
export interface SdkParts {
  /** With the variables that settings add to the environment. */
  readonly io: CliIo;
  readonly folder: string;
  readonly options: SdkOptions;
  readonly channel: Channel;
  readonly guard: KeyGuard;
  /** By the name that a client knows; an empty one is the model of the environment. */
  readonly loadModel: (name: string) => Promise<Model>;
  readonly model: SwitchedModel;
  readonly sources: Sources;
  readonly plugins: readonly Plugin[];
  /** Of MCP servers. */
  readonly tools: readonly Tool[];
  /** Whether the session has begun before this agent takes it over. */
  readonly isBegun: boolean;
  /** Whether the session is just handed to another agent. */
  readonly isMoving: () => boolean;
  readonly sessionId: () => string;
  readonly transcriptPath: () => string;
  readonly note: (text: string) => void;
}
