import { sessionsOf } from '@treadle/core';
import type { SessionSummary } from '@treadle/core/journal';
import { rewindFold, type RewindPoint } from '@treadle/core/projections';
import { readFamily } from '@treadle/core/history';

import { plainLine } from '../../asking/plain-text.ts';
import { agentIdOf, shortId } from '../../sessions/folder-sessions.ts';
import { rewindFromFlags, rewindLines } from '../../sessions/rewind.ts';
import { familyLines } from '../../sessions/tree.ts';
import type { SlashCommand, TerminalUi } from '../../../terminal/ui/host.ts';
import type { Workbench } from '../workbench.ts';

/** Commands that show another session, or go back in this one. */
export function sessionCommands(bench: Workbench): readonly SlashCommand[] {
  const { journal, place } = bench.prepared;
  return [
    {
      name: 'new',
      aliases: ['clear'],
      about: 'another session; this one is kept',
      run: (_, ui) => ui.show(bench.begin()),
    },
    {
      name: 'resume',
      aliases: ['sessions'],
      about: 'another session of this folder',
      async run(_, ui) {
        const { sessions } = await journal.list({ agentId: agentIdOf(place.folder), limit: 50 });
        const items = sessions.map((row) => ({
          value: row.sessionId,
          text: nameOf(row),
          about: [
            ...(row.sessionId === ui.session.id ? ['this one'] : []),
            ...(row.parent ? [`fork of ${shortId(row.parent.sessionId)}`] : []),
            ...standingText(row),
            new Date(row.updatedAt).toISOString().slice(0, 16).replace('T', ' '),
            shortId(row.sessionId),
          ].join(' · '),
        }));
        const chosen = await ui.pick('Sessions of this folder', items);
        if (chosen !== null && chosen !== ui.session.id) await ui.show(await bench.open(chosen));
      },
    },
    {
      name: 'fork',
      about: 'go on in a copy of this session',
      async run(_, ui) {
        if (ui.session.id === '') {
          ui.print('There is nothing to fork yet.', 'dim');
          return;
        }
        const id = await sessionsOf(journal).fork(ui.session.id);
        await ui.show(await bench.open(id));
        ui.print(`This is a fork, session ${shortId(id)}. The other one stays as it is.`, 'dim');
      },
    },
    {
      name: 'tree',
      about: 'forks, branches and sub-agents of this session',
      async run(_, ui) {
        const { id } = ui.session;
        if (id === '') {
          ui.print('There is no session yet: it begins with your first message.', 'dim');
          return;
        }
        const { sessions } = await journal.list({ agentId: agentIdOf(place.folder), limit: 200 });
        const names = new Map(sessions.map((row) => [row.sessionId, nameOf(row)]));
        ui.print(familyLines(await readFamily(journal, id), id, names));
      },
    },
    {
      name: 'rewind',
      aliases: ['undo'],
      about: 'go back to before one of your messages, with the files',
      run: (_, ui) => rewind(bench, ui),
    },
  ];
}

const nameOf = ({ title, firstPrompt }: SessionSummary): string => plainLine(title ?? firstPrompt ?? '(empty)', 60);

function standingText({ status, waitsFor = [] }: SessionSummary): string[] {
  if (status === undefined) return [];
  if (status === 'running') return ['open'];
  return [waitsFor.includes('approval') ? 'waits for your approval' : 'waits for an answer'];
}

async function rewind(bench: Workbench, ui: TerminalUi): Promise<void> {
  const { journal } = bench.prepared;
  if (ui.state.run !== null) {
    ui.print('A run is open. Esc interrupts it; then go back.', 'warn');
    return;
  }
  const fold = rewindFold();
  for await (const event of ui.session.history()) fold.take(event);
  const points = fold.points().toReversed();
  if (points.length === 0) {
    ui.print('There is no message to go back to.', 'warn');
    return;
  }
  const to = await ui.pick<RewindPoint>(
    'Go back to before which message?',
    points.map((point) => ({ value: point, text: plainLine(point.text, 100) })),
  );
  if (to === null) return;
  const { id } = ui.session;
  const { io } = bench.context;
  const planned = await rewindFromFlags(io, journal, id, { to: to.number, what: 'both', dryRun: true });
  const answer = await ui.ask(`${rewindLines(planned)}\nFiles that commands have changed stay as they are.`, {
    label: 'Do it? [y/n] ',
  });
  if (answer === null || !/^y(es)?$/i.test(answer.trim())) return;
  // Nobody else may drive it meanwhile: this terminal lets go of it.
  await ui.session.close();
  const done = await rewindFromFlags(io, journal, id, { to: to.number, what: 'both', dryRun: false });
  await ui.show(await bench.open(done.sessionId ?? id));
  ui.print(
    rewindLines(done)
      .split('\n')
      .filter((line) => !line.includes('treadle -r'))
      .join('\n'),
    'dim',
  );
  ui.setDraft(to.text);
}
