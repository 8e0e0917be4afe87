import { formatTranscript } from '../../sessions/transcript.ts';
import { costItems, readCosts } from '../../sessions/cost.ts';
import { THEME_NAMES } from '../../../terminal/screen/theme.ts';
import type { SlashCommand } from '../../../terminal/ui/host.ts';

/** Commands about the session that is shown. */
export function aboutSession(): readonly SlashCommand[] {
  return [
    {
      name: 'cost',
      about: 'what the session has used and cost',
      async run(_, ui) {
        ui.list(costItems(await readCosts(ui.session.history())));
      },
    },
    {
      name: 'show',
      about: 'all of a result, by the number beside it',
      takes: 'number',
      run(rest, ui) {
        const number = Number(rest.replace(/^#/, ''));
        if (Number.isInteger(number) && number > 0) ui.transcript(number);
        else ui.print('Give the number of a result, such as /show 3.', 'warn');
      },
    },
    {
      name: 'tasks',
      about: 'what runs in the background; Enter ends it',
      async run(_, ui) {
        const items = [...ui.state.tasks].map(([value, name]) => ({ value, text: `${name} · ${value}` }));
        if (items.length === 0) {
          ui.print('Nothing runs in the background.', 'dim');
          return;
        }
        const taskId = await ui.pick('In the background: Enter ends a task, Esc leaves', items);
        if (taskId !== null) await ui.session.post({ type: 'stop_task', taskId });
      },
    },
    {
      name: 'copy',
      about: 'the last reply, as Markdown, to the clipboard',
      run(_, ui) {
        const { lastReply } = ui.state;
        if (lastReply === '') ui.print('There is no reply yet.', 'warn');
        else {
          ui.copy(lastReply);
          ui.print('Copied, if the terminal allows it (OSC 52).', 'dim');
        }
      },
    },
    {
      name: 'export',
      about: 'the transcript as Markdown',
      async run(_, ui) {
        ui.print(await formatTranscript(ui.session.history(), 'markdown', false));
      },
    },
    {
      name: 'theme',
      about: 'the colours of what comes next',
      takes: '[dark|light|none]',
      async run(rest, ui) {
        const items = THEME_NAMES.map((value) => ({ value, text: value }));
        const name = THEME_NAMES.find((one) => one === rest) ?? (await ui.pick('Theme', items));
        if (name === null) return;
        ui.setTheme(name);
        ui.print(`Theme: ${name}. TREADLE_THEME=${name} keeps it.`, 'dim');
      },
    },
    {
      name: 'stop',
      about: 'interrupt the run, as Esc does',
      run: (_, ui) => ui.session.post({ type: 'cancel', reason: 'Interrupted by the user.' }),
    },
    {
      name: 'quit',
      about: 'leave; the session is kept',
      run(_, ui) {
        ui.leave();
      },
    },
  ];
}
