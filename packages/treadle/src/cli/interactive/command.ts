import type { PermissionMode } from '@treadle/core';

import { hostname } from 'node:os';
import process from 'node:process';

import type { TerminalHost, TerminalUi } from '../../terminal/ui/host.ts';
import { openTerminal, type Terminal } from '../../terminal/ui/terminal.ts';
import type { TerminalSession } from '../../terminal/session/session.ts';
import type { CommandContext } from '../context.ts';
import { SIGNAL_EXIT } from '../exit-codes.ts';
import { homeFolder } from '../parts.ts';
import type { RunRequest } from '../run/request.ts';
import { realFolder, shortId } from '../sessions/folder-sessions.ts';
import { closeInOrder } from './closing.ts';
import { plainDevice, processDevice, turnOfLoop } from './device.ts';
import { machineHost } from './host.ts';
import { openStore } from './store.ts';
import type { Workbench } from './workbench.ts';

/** The modes that a key goes through. */
const MODES: readonly PermissionMode[] = ['default', 'acceptEdits', 'plan'];

/** `treadle` at a terminal, without a prompt: an interactive session. Null where there is no terminal for it. */
export async function interactiveCommand(context: CommandContext, request: RunRequest): Promise<number | null> {
  const { io, interruptions } = context;
  const isPlain = io.env['TERM'] === 'dumb' || Boolean(io.env['ACCESSIBLE']);
  const device = isPlain ? null : processDevice(io);
  if (device === null && !isPlain) return null;
  const folder = await realFolder(io.cwd, request.cwd ?? '.');
  const store = openStore(homeFolder(io), folder, request.save);
  const ready = Promise.withResolvers<Workbench>();
  ready.promise.catch(() => {});
  // What is wrong with the login is said when the session is made ready.
  let model = request.model || io.env['TREADLE_MODEL'] || (await loginModel(io));
  let bench: Workbench | null = null;
  /** The mode that was chosen last, until the session has it. */
  let wanted: PermissionMode | null = null;
  const self = `treadle, process ${process.pid} on ${hostname()}`;
  const opening = Promise.withResolvers<TerminalSession>();

  const note = (text: string): void => terminal.ui.print(text, 'dim');
  const machine = await machineHost(io, folder, store, note, () => bench?.definition.permissions?.directories ?? []);
  const host: TerminalHost = {
    ...machine,
    get model() {
      return model;
    },
    get nextModel() {
      return model;
    },
    mode: ({ mode }) => wanted ?? mode ?? bench?.definition.permissions?.mode ?? request.permissionMode ?? 'default',
    self,
    since: io.now(),
    label: (name) => bench?.definition.tools?.find((tool) => tool.name === name)?.label ?? name,
    commands: () => bench?.commands() ?? [],
    ready: ready.promise,
    about: async (question) =>
      question.toolName === 'bash' ? ((await bench?.prepared.rights.aboutCommands()) ?? null) : machine.about(question),
    async nextMode(ui) {
      const now = MODES.indexOf(ui.mode as PermissionMode);
      const mode = MODES[(now + 1) % MODES.length] ?? 'default';
      wanted = mode;
      try {
        await opening.promise;
        await ui.session.post({
          type: 'permission_updates',
          updates: [{ type: 'setMode', mode, destination: 'session' }],
        });
      } finally {
        if (wanted === mode) wanted = null;
      }
    },
  };
  const terminal: Terminal =
    device === null
      ? (await import('../../terminal/ui/plain.ts')).openPlain(plainDevice(context), host, opening.promise)
      : openTerminal(device, host, opening.promise);

  const crashed = (error: unknown): void => {
    terminal.restore();
    context.note(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  };
  process.on('uncaughtException', crashed);
  process.on('unhandledRejection', crashed);
  interruptions.onAsked(() => terminal.interrupt?.() ?? false);
  interruptions.onFirst((signal) => terminal.leave(SIGNAL_EXIT[signal]));
  // Typed-ahead keys are read before the rest is loaded.
  await turnOfLoop();
  // Loaded on use: the input line is there before the rest is.
  import('./prepare.ts')
    .then(({ prepare }) =>
      prepare(
        { ...context, note },
        request,
        terminal.ui,
        (name) => {
          model = name;
        },
        device === null,
      ),
    )
    .then(async (made) => {
      bench = made;
      ready.resolve(made);
      const { sessionId } = made.prepared.place;
      opening.resolve(sessionId === null ? made.begin() : await made.open(sessionId));
      const choose = made.commands().find(({ name }) => request.session.kind === 'choose' && name === 'resume');
      // The session is there: what goes wrong with the list ends nothing.
      await Promise.resolve(choose?.run('', terminal.ui)).catch((error: unknown) =>
        terminal.ui.print(error instanceof Error ? error.message : String(error), 'bad'),
      );
    })
    .catch((error: unknown) => {
      ready.reject(error);
      opening.reject(error);
    });
  try {
    const code = await terminal.left;
    await store.settled();
    const id = idOf(terminal.ui);
    if (id !== '' && request.save)
      context.out.print(`Session ${shortId(id)} is kept: treadle -r ${shortId(id)} goes on with it.\n`);
    return code;
  } finally {
    process.off('uncaughtException', crashed);
    process.off('unhandledRejection', crashed);
    await closeInOrder(terminal.ui, ready.promise, io);
  }
}

/** The session that is shown; empty before there is one. */
function idOf(ui: Pick<TerminalUi, 'session'>): string {
  try {
    return ui.session.id;
  } catch {
    return '';
  }
}

/** The model of the login or the settings. Loaded on use: where one is named, the input line is there sooner. */
async function loginModel(io: CommandContext['io']): Promise<string> {
  const { knownModel } = await import('../login/first-run.ts');
  const known = await knownModel(io, undefined).catch(() => null);
  return known?.choice.name ?? '';
}
