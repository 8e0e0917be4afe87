import type { DurableEvent, SessionInput } from '@treadle/core/events';

import process from 'node:process';

import type { SlashCommand, TerminalHost } from '../../terminal/ui/host.ts';
import type { Terminal } from '../../terminal/ui/terminal.ts';
import type { TerminalSession } from '../../terminal/session/session.ts';
import type { CommandContext } from '../context.ts';
import { SIGNAL_EXIT } from '../exit-codes.ts';
import { aboutSession } from '../interactive/commands/about-session.ts';
import { KEYS } from '../interactive/commands.ts';
import { plainDevice, processDevice } from '../interactive/device.ts';
import { machineHost } from '../interactive/host.ts';
import { openStore } from '../interactive/store.ts';
import { toolLabels } from '../output/tool-labels.ts';
import { homeFolder } from '../parts.ts';
import type { AttachedSession, TypedInput } from './session.ts';

/** A session that is driven elsewhere, as the screen takes it. */
function asTerminalSession(session: AttachedSession, history: () => AsyncIterable<DurableEvent>): TerminalSession {
  return {
    id: session.id,
    events: session.events,
    leftOut: 0,
    history,
    async post(input: SessionInput) {
      if (!isTyped(input)) {
        throw new Error('Only the terminal that drives the session can do that.');
      }
      await session.post(input);
    },
    async resume() {},
    isCutOff: async () => false,
    close: async () => session.close(),
  };
}

const TYPED: ReadonlySet<string> = new Set<TypedInput['type']>([
  'prompt',
  'steering',
  'follow_up',
  'cancel',
  'approval_answer',
  'clear_queue',
]);
const isTyped = (input: SessionInput): input is TypedInput => TYPED.has(input.type);

/** Where the session works, and how all of its log is read. */
export interface AttachedTo {
  readonly self: string;
  /** Null where its files are not on this machine. */
  readonly folder: string | null;
  /** What to do when nothing is heard of it. */
  readonly onSilence: string;
  history(): AsyncIterable<DurableEvent>;
}

/** Shows the session in the same screen as one that is driven here, until it is left. Returns the exit code. */
export async function attachedScreen(
  context: CommandContext,
  session: AttachedSession,
  { self, folder, onSilence, history }: AttachedTo,
): Promise<number> {
  const { io, interruptions } = context;
  const store = openStore(homeFolder(io), folder ?? io.cwd, true);
  const note = (text: string): void => terminal.ui.print(text, 'dim');
  const machine = await machineHost(io, folder ?? io.cwd, store, note);
  const commands = commandsIn(io.cwd);
  const host: TerminalHost = {
    ...machine,
    ...(folder === null ? { keepsRules: false, preview: async () => null, about: async () => null } : {}),
    // The terminal that drives the session has a draft of its own.
    loadDraft: (id) => machine.loadDraft(`attached-${id}`),
    saveDraft: (id, draft) => machine.saveDraft(`attached-${id}`, draft),
    model: `session ${session.id}`,
    mode: ({ mode }) => mode ?? 'default',
    self,
    onSilence,
    label: await toolLabels(io.cwd),
    commands: () => commands,
    ready: Promise.resolve(),
    async nextMode(ui) {
      ui.print('The terminal that drives the session chooses the mode.', 'warn');
    },
  };
  const opening = Promise.resolve(asTerminalSession(session, history));
  const device = io.env['TERM'] === 'dumb' || io.env['ACCESSIBLE'] ? null : processDevice(io);
  const { openTerminal } = await import('../../terminal/ui/terminal.ts');
  const { openPlain } = await import('../../terminal/ui/plain.ts');
  const terminal: Terminal =
    device === null ? openPlain(plainDevice(context), host, opening) : openTerminal(device, host, opening);
  const crashed = (error: unknown): void => {
    terminal.restore();
    context.note(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  };
  process.on('uncaughtException', crashed);
  interruptions.onAsked(() => terminal.interrupt?.() ?? false);
  interruptions.onFirst((signal) => terminal.leave(SIGNAL_EXIT[signal]));
  note(`Attached to ${session.id}. Your messages go to its model; Ctrl+D leaves.`);
  try {
    const code = await terminal.left;
    await store.settled();
    return code;
  } finally {
    process.off('uncaughtException', crashed);
  }
}

/** What can be done with a session that another terminal drives. */
function commandsIn(folder: string): readonly SlashCommand[] {
  const all: SlashCommand[] = aboutSession(folder).filter(({ name }) => name !== 'rename');
  const help: SlashCommand = {
    name: 'help',
    about: 'keys and commands',
    run: (_, ui) => ui.list([...KEYS, ['', ''], ...all.map(({ name, about }) => [`/${name}`, about] as const)]),
  };
  all.push(help);
  return all;
}
