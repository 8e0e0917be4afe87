import type { SlashCommand } from '../../terminal/ui/host.ts';
import type { Workbench } from './workbench.ts';
import { aboutSession } from './commands/about-session.ts';

/** The commands that begin with a slash, by name. */
export const slashCommands = (bench: Workbench): readonly SlashCommand[] =>
  aboutSession(bench).toSorted((a, b) => a.name.localeCompare(b.name));
