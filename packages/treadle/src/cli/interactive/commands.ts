import type { SlashCommand } from '../../terminal/ui/host.ts';
import { aboutSession } from './commands/about-session.ts';
import { agentCommands } from './commands/agent.ts';
import { sessionCommands } from './commands/sessions.ts';
import type { Workbench } from './workbench.ts';

/** The keys, for people. */
export const KEYS: readonly (readonly [key: string, about: string])[] = [
  ['Enter', 'sends; while the model works, it is told before its next call'],
  ['Tab', 'while the model works: sends after the run'],
  ['Esc', 'interrupts; twice: puts the draft aside, or goes back to an earlier message'],
  ['Ctrl+C', 'puts the draft aside, interrupts, or leaves (twice)'],
  ['Ctrl+D', 'leaves'],
  ['Shift+Enter, Ctrl+J', 'another line; Alt+Enter and \\ Enter, too'],
  ['Up, Down', 'earlier prompts; Ctrl+R searches them. While messages are queued: takes them back'],
  ['Ctrl+G', 'edits the draft in $VISUAL or $EDITOR; Ctrl+X also what was pasted'],
  ['Ctrl+O', 'the whole transcript, with all results; q leaves it'],
  ['Ctrl+V', 'adds the image of the clipboard; a dragged image or PDF is added, too'],
  ['Ctrl+Z', 'suspends; fg comes back'],
  ['Shift+Tab', 'permission mode: default, acceptEdits, plan'],
  ['@path', 'sends a file too; paths are completed'],
  ['!command', 'runs a command, and tells the model its output'],
];

/** The commands that begin with a slash, by name. */
export function slashCommands(bench: Workbench): readonly SlashCommand[] {
  const all: SlashCommand[] = [
    ...aboutSession(bench.prepared.place.folder),
    ...agentCommands(bench),
    ...sessionCommands(bench),
    ...bench.ownCommands,
  ];
  all.push({
    name: 'help',
    about: 'keys and commands',
    run(_, ui) {
      ui.list([
        ...KEYS,
        ['', ''],
        ...slashCommands(bench).map(
          ({ name, takes, about }) => [`/${[name, takes ?? ''].join(' ').trim()}`, about] as const,
        ),
      ]);
    },
  });
  return all.toSorted((a, b) => a.name.localeCompare(b.name));
}
