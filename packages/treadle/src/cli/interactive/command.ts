import { createSession, defineAgent, openSession, type Agent, type Journal, type PermissionMode } from '@treadle/core';

import { hostname } from 'node:os';
import process from 'node:process';

import { openTerminal, type Terminal } from '../../terminal/ui/terminal.ts';
import type { SlashCommand, TerminalUi } from '../../terminal/ui/host.ts';
import type { TerminalSession } from '../../terminal/session/session.ts';
import type { Terminal as Asker } from '../asking/terminal.ts';
import type { CommandContext } from '../context.ts';
import { SIGNAL_EXIT } from '../exit-codes.ts';
import { homeFolder } from '../parts.ts';
import { chooseParts, prepareAgent, previewIn, type PreparedAgent } from '../run/agent.ts';
import { chooseModel } from '../run/choose-model.ts';
import type { RunRequest } from '../run/request.ts';
import { plainLine } from '../asking/plain-text.ts';
import { commandsOf } from '../run/prompt-commands.ts';
import { agentIdOf, realFolder } from '../sessions/folder-sessions.ts';
import { version } from '../version.ts';
import { slashCommands } from './commands.ts';
import { processDevice } from './device.ts';
import { editText, fileList, shellOutput } from './files.ts';
import { lazySession } from './lazy-session.ts';
import { localSession } from './local-session.ts';
import { openStore } from './store.ts';
import type { Workbench } from './workbench.ts';

/** Lines of a question that stand above the input line. */
const MOST_ASKED = 4;
/** The modes that a key goes through. */
const MODES: readonly PermissionMode[] = ['default', 'acceptEdits', 'plan'];

/** `treadle` at a terminal, without a prompt: an interactive session. Null where there is no terminal for it. */
export async function interactiveCommand(context: CommandContext, request: RunRequest): Promise<number | null> {
  const { io, interruptions } = context;
  const device = processDevice(io);
  if (device === null) return null;
  const folder = await realFolder(io.cwd, request.cwd ?? '.');
  const store = openStore(homeFolder(io), folder, request.save);
  const ready = Promise.withResolvers<Workbench>();
  ready.promise.catch(() => {});
  let model = chooseModel(request.model, io.env).name;
  let bench: Workbench | null = null;
  const self = `treadle, process ${process.pid} on ${hostname()}`;
  const opening = Promise.withResolvers<TerminalSession>();
  const history = await store.history();

  const terminal: Terminal = openTerminal(
    device,
    {
      version: version(),
      get model() {
        return model;
      },
      folder,
      mode: request.permissionMode ?? 'default',
      self,
      label: (name) => bench?.definition.tools?.find((tool) => tool.name === name)?.label ?? name,
      commands: () => (bench ? slashCommands(bench) : []),
      ready: ready.promise,
      files: fileList(folder),
      history,
      remember: store.remember,
      loadDraft: store.loadDraft,
      saveDraft: store.saveDraft,
      preview: (question) => previewIn(folder)({ ...question, type: 'approval' }),
      about: async ({ toolName }) =>
        toolName === 'bash' ? ((await bench?.prepared.rights.aboutCommands()) ?? null) : null,
      edit: (text) => editText(text, io.env),
      content: async (text) => {
        const { mentionedFiles } = await import('../prompt/mentions.ts');
        return [
          { type: 'text', text },
          ...(await mentionedFiles(text, { folder, env: io.env, note: (said) => note(said) })),
        ];
      },
      shell: (command) => shellOutput(command, folder, io.env),
      async nextMode(ui) {
        const now = MODES.indexOf((ui.state.mode ?? request.permissionMode ?? 'default') as PermissionMode);
        const mode = MODES[(now + 1) % MODES.length] ?? 'default';
        await ui.session.post({
          type: 'permission_updates',
          updates: [{ type: 'setMode', mode, destination: 'session' }],
        });
      },
    },
    opening.promise,
  );

  const crashed = (error: unknown): void => {
    terminal.restore();
    context.note(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  };
  process.on('uncaughtException', crashed);
  process.on('unhandledRejection', crashed);
  interruptions.onFirst((signal) => terminal.leave(SIGNAL_EXIT[signal]));
  const note = (text: string): void => terminal.ui.print(text, 'dim');
  const prepared = prepare({ ...context, note }, request, terminal.ui, (name) => {
    model = name;
  });
  prepared
    .then(async (made) => {
      bench = made;
      ready.resolve(made);
      const { sessionId } = made.prepared.place;
      opening.resolve(sessionId === null ? made.begin() : await made.open(sessionId));
    })
    .catch(opening.reject);
  try {
    const code = await terminal.left;
    await store.settled();
    return code;
  } finally {
    process.off('uncaughtException', crashed);
    process.off('unhandledRejection', crashed);
    await closing(terminal.ui, bench);
  }
}

/** Ends the session in order; what hangs is left behind. */
async function closing(ui: TerminalUi, bench: Workbench | null): Promise<void> {
  if (bench === null) return;
  const { io } = bench.context;
  const late = new Promise<void>((resolve) => void io.after(2000, resolve));
  const close = async (): Promise<void> => {
    await ui.session.close();
    await bench.prepared.close();
  };
  await Promise.race([close().catch(() => {}), late]);
}

/** Makes ready what a session needs, while the input line is there already. Questions are asked in the terminal. */
async function prepare(
  context: CommandContext,
  request: RunRequest,
  ui: TerminalUi,
  shownModel: (name: string) => void,
): Promise<Workbench> {
  const { interruptions } = context;
  const askLine = async (question: string, until: Promise<unknown>, isSecret: boolean): Promise<string | null> => {
    const lines = question.split('\n');
    const label = lines.pop() ?? '';
    const above = lines.join('\n').trim();
    // What is decided on must be seen whole: the live rows would show its end.
    if (lines.length > MOST_ASKED) ui.print(above);
    return ui.ask(lines.length > MOST_ASKED ? '' : above, { label, until, isSecret });
  };
  const asker: Asker = {
    isThere: true,
    ask: (question, until) => askLine(question, until, false),
    askSecret: (question, until) => askLine(question, until, true),
  };
  const chosen = await chooseParts(context, request, asker);
  shownModel(`${chosen.model.provider}/${chosen.model.id}`);
  const prepared = await interruptions.unless(prepareAgent(context, chosen, request, asker));
  const { kept } = prepared;
  const options = { ...kept, owner: `treadle, process ${process.pid} on ${hostname()}` };
  const fail = (error: unknown): void => {
    ui.print(error instanceof Error ? error.message : String(error), 'bad');
  };
  const agent = (): Agent => defineAgent(bench.definition);
  const bench: Workbench = {
    context,
    chosen,
    prepared,
    definition: prepared.definition,
    ownCommands: await markdownCommands(context, prepared),
    shownModel,
    async open(sessionId) {
      const seq = await lastSeq(kept.journal, sessionId, prepared.place.folder);
      return localSession(await openSession(agent(), sessionId, options), { journal: kept.journal, seq, fail });
    },
    begin: () =>
      lazySession(async () =>
        localSession(await createSession(agent(), options), { journal: kept.journal, seq: 0, fail }),
      ),
  };
  return bench;
}

/** The last event of a session, without reading its log where the list of sessions says it. */
async function lastSeq(journal: Journal, sessionId: string, folder: string): Promise<number> {
  const { sessions } = await journal.list({ agentId: agentIdOf(folder), limit: 200 });
  const row = sessions.find((one) => one.sessionId === sessionId);
  let seq = row?.seq ?? 0;
  for await (const event of journal.read(sessionId, seq + 1)) ({ seq } = event);
  return seq;
}

/** The commands of Markdown files: what they say is sent as a prompt. */
async function markdownCommands({ io }: CommandContext, { place, rights }: PreparedAgent): Promise<SlashCommand[]> {
  const { folder } = place;
  const { isTrusted, plugins } = rights;
  const { commands } = await commandsOf({ io, folder, isTrusted, plugins });
  return commands.map(({ name, description, argumentHint, expand }) => ({
    name,
    about: plainLine(description, 80),
    ...(argumentHint === '' ? {} : { takes: plainLine(argumentHint, 40) }),
    run: (words, ui) =>
      ui.session.post({ type: 'prompt', messages: [{ content: [{ type: 'text', text: expand(words) }] }] }),
  }));
}
