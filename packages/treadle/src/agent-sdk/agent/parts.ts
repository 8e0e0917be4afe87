import type { Model } from '@treadle/core';

import type { KeyGuard } from '../../cli/asking/keys.ts';
import type { CliIo } from '../../cli/io.ts';
import type { Channel } from '../lines/channel.ts';
import type { ClientServers } from '../client/servers.ts';
import type { SdkOptions } from '../options.ts';

/** What an agent is made with. */
export interface SdkParts {
  readonly io: CliIo;
  readonly folder: string;
  readonly options: SdkOptions;
  readonly channel: Channel;
  readonly clients: ClientServers;
  readonly guard: KeyGuard;
  readonly loadModel: (name: string) => Promise<Model>;
  readonly sessionId: () => string;
  readonly transcriptPath: () => string;
  readonly note: (text: string) => void;
}
