import { createSession, defineAgent, openSession, type Agent, type Journal } from '@treadle/core';

import { hostname } from 'node:os';
import process from 'node:process';

import { promptOf } from '../../terminal/session/session.ts';
import { modeNotes } from '../../terminal/view/words.ts';
import { numbered } from '../../terminal/ui/questions.ts';
import type { SlashCommand, TerminalUi } from '../../terminal/ui/host.ts';
import { plainLine } from '../asking/plain-text.ts';
import type { Terminal as Asker } from '../asking/terminal.ts';
import type { CommandContext } from '../context.ts';
import { openLive } from '../sessions/live.ts';
import { chooseParts, prepareAgent, type PreparedAgent } from '../run/agent.ts';
import { commandsOf } from '../run/prompt-commands.ts';
import type { RunRequest } from '../run/request.ts';
import { agentIdOf } from '../sessions/folder-sessions.ts';
import { slashCommands } from './commands.ts';
import { lazySession } from './lazy-session.ts';
import { localSession } from './local-session.ts';
import type { Workbench } from './workbench.ts';

/** Lines of a question that stand above the input line. */
const MOST_ASKED = 4;

/** Asks in the terminal. @param how `isAsked`: not for a command of the user's; `isPlain`: a choice is typed */
function askerOf(ui: TerminalUi, how: { readonly isAsked: boolean; readonly isPlain: boolean }): Asker {
  const { isAsked, isPlain } = how;
  const askLine = async (question: string, until: Promise<unknown>, isSecret: boolean): Promise<string | null> => {
    const lines = question.split('\n');
    const label = lines.pop() ?? '';
    const above = lines.join('\n').trim();
    // What is decided on must be seen whole: the live rows would show its end.
    if (lines.length > MOST_ASKED) ui.print(above);
    return ui.ask(lines.length > MOST_ASKED ? '' : above, { label, until, isSecret, isAsked });
  };
  return {
    isThere: true,
    ask: (question, until) => askLine(question, until, false),
    askSecret: (question, until) => askLine(question, until, true),
    ...(isPlain
      ? {}
      : {
          pick: (title, items, until) =>
            ui.pick(title, numbered(items), { until, isAsked, isNumbered: items.length < 10 }),
        }),
  };
}

/** Makes ready what a session needs, while the input line is there already. Questions are asked in the terminal. */
export async function prepare(
  context: CommandContext,
  request: RunRequest,
  ui: TerminalUi,
  shownModel: (name: string) => void,
  /** Lines only: a choice is typed. */
  isPlain: boolean,
): Promise<Workbench> {
  const { interruptions } = context;
  const asker = askerOf(ui, { isAsked: true, isPlain });
  const chosen = await chooseParts(context, request, asker);
  shownModel(`${chosen.model.provider}/${chosen.model.id}`);
  const prepared = await interruptions.unless(prepareAgent(context, chosen, request, asker));
  const { kept } = prepared;
  const live = await openLive(context.io, request.save);
  const options = { ...kept, owner: `treadle, process ${process.pid} on ${hostname()}` };
  const fail = (error: unknown): void => {
    ui.print(error instanceof Error ? error.message : String(error), 'bad');
  };
  const agent = (): Agent => defineAgent(bench.definition);
  const bench: Workbench = {
    context,
    chosen,
    prepared: {
      ...prepared,
      async close() {
        await live.close();
        await prepared.close();
      },
    },
    definition: prepared.definition,
    ownCommands: await markdownCommands(context, prepared),
    shownModel,
    asker: askerOf(ui, { isAsked: false, isPlain }),
    commands: () => slashCommands(bench),
    async open(sessionId) {
      const seq = await lastSeq(kept.journal, sessionId, prepared.place.folder);
      return localSession(await openSession(agent(), sessionId, options), { journal: kept.journal, live, seq, fail });
    },
    begin: () =>
      lazySession(async () =>
        localSession(await createSession(agent(), options), { journal: kept.journal, live, seq: 0, fail }),
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
    run: (words, ui) => ui.session.post(promptOf([{ type: 'text', text: expand(words) }, ...modeNotes(ui.mode)])),
  }));
}
