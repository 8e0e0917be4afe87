import type { AgentDefinition } from '@treadle/core';

import type { SlashCommand } from '../../terminal/ui/host.ts';
import type { TerminalSession } from '../../terminal/session/session.ts';
import type { CommandContext } from '../context.ts';
import type { Terminal } from '../asking/terminal.ts';
import type { ChosenParts, PreparedAgent } from '../run/agent.ts';

/** What the commands of a session work with. */
export interface Workbench {
  readonly context: CommandContext;
  readonly chosen: ChosenParts;
  readonly prepared: PreparedAgent;
  /** The agent as it is defined now: `/model` and `/thinking` change it. */
  definition: AgentDefinition;
  /** Opens a session of the folder with it. */
  open(sessionId: string): Promise<TerminalSession>;
  /** A new one. */
  begin(): TerminalSession;
  /** All that begin with a slash. */
  commands(): readonly SlashCommand[];
  /** Those of Markdown files. */
  readonly ownCommands: readonly SlashCommand[];
  readonly shownModel: (name: string) => void;
  /** Asks for a command of the user's. */
  readonly asker: Terminal;
}
