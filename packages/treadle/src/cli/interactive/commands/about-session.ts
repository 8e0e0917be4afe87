import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

import { plainLine, plainText } from '../../asking/plain-text.ts';
import { shortId } from '../../sessions/folder-sessions.ts';
import { formatTranscript } from '../../sessions/transcript.ts';
import { grouped } from '../../output/figures.ts';
import { costItems, readCosts } from '../../sessions/cost.ts';
import { THEME_NAMES } from '../../../terminal/screen/theme.ts';
import type { SlashCommand } from '../../../terminal/ui/host.ts';

/** Commands about the session that is shown. @param folder where files are written */
export function aboutSession(folder: string): readonly SlashCommand[] {
  return [
    {
      name: 'cost',
      aliases: ['status', 'usage', 'context'],
      about: 'what the session has used and cost, and how full the window is',
      async run(_, ui) {
        const { context, title } = ui.state;
        const { used, window } = context;
        const costs = await readCosts(ui.session.history());
        if (costs.total.calls === 0) {
          ui.print('No model was asked yet.', 'dim');
          return;
        }
        const share = window === null ? '' : ` · ${Math.round((used / window) * 100)} %`;
        const full = `${grouped(used)}${window === null ? '' : ` of ${grouped(window)}`} tokens${share}`;
        ui.list([
          ['session', [shortId(ui.session.id), ...(title === null ? [] : [plainLine(title, 100)])].join(' · ')],
          ['window', full],
          ...costItems(costs),
        ]);
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
      about: 'what runs in the background: look at it, or end it',
      async run(_, ui) {
        const items = [...ui.state.tasks].map(([value, { name }]) => ({ value, text: name }));
        if (items.length === 0) {
          ui.print('Nothing runs in the background.', 'dim');
          return;
        }
        const taskId = await ui.pick('In the background', items);
        if (taskId === null) return;
        const what = await ui.pick(ui.state.tasks.get(taskId)?.name ?? '', [
          { value: 'show', text: 'show what it has put out' },
          { value: 'end', text: 'end it' },
        ]);
        const output = ui.state.tasks.get(taskId)?.output ?? '';
        if (what === 'end') await ui.session.post({ type: 'stop_task', taskId });
        else if (what === 'show') ui.print(output === '' ? 'Nothing yet.' : plainText(output));
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
      about: 'the transcript as Markdown, in a file',
      takes: '[file]',
      async run(rest, ui) {
        if (ui.session.id === '') {
          ui.print('There is nothing to export yet.', 'warn');
          return;
        }
        const name = rest === '' ? `treadle-${shortId(ui.session.id)}.md` : rest;
        const file = resolve(folder, name.startsWith('~/') ? join(homedir(), name.slice(2)) : name);
        const text = await formatTranscript(ui.session.history(), 'markdown', false);
        // A file that is there is somebody's.
        await writeFile(file, text, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
          if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
          throw new Error(`${name} is there already. Give another name: /export FILE`);
        });
        ui.print(`The transcript is in ${plainLine(name, 200)}.`, 'dim');
      },
    },
    {
      name: 'rename',
      aliases: ['name'],
      about: 'another name for this session',
      takes: '[name]',
      async run(rest, ui) {
        const title = rest === '' ? await ui.ask('What is this session called?', { label: 'Name: ' }) : rest;
        if (title === null || title.trim() === '') return;
        await ui.session.post({ type: 'rename', title: plainLine(title.trim(), 200) });
        ui.print(`This session is called "${plainLine(title.trim(), 200)}".`, 'dim');
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
      aliases: ['exit'],
      about: 'leave; the session is kept',
      run(_, ui) {
        ui.leave();
      },
    },
  ];
}
