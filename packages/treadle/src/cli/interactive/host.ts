import { isAbsolute, join, relative } from 'node:path';

import type { TerminalHost } from '../../terminal/ui/host.ts';
import type { CliIo } from '../io.ts';
import { version } from '../version.ts';
import { defined } from '../defined.ts';
import { mentionOfClipboard, mentionOfPath } from './images.ts';
import { editText, fileList, shellOutput } from './files.ts';
import type { TerminalStore } from './store.ts';

/** What every session in a terminal has of this machine: its files, its programs, and what was typed earlier. */
export async function machineHost(
  io: Pick<CliIo, 'env'>,
  folder: string,
  store: TerminalStore,
  note: (text: string) => void,
  /** More folders that the tools work in. */
  directories: () => readonly string[] = () => [],
): Promise<
  Pick<
    TerminalHost,
    | 'version'
    | 'folder'
    | 'files'
    | 'history'
    | 'remember'
    | 'loadDraft'
    | 'saveDraft'
    | 'preview'
    | 'about'
    | 'edit'
    | 'content'
    | 'shell'
    | 'mention'
    | 'clipboard'
  >
> {
  return {
    version: version(),
    folder: shownFolder(folder, io.env['HOME']),
    files: fileList(folder),
    history: await store.history(),
    remember: store.remember,
    loadDraft: store.loadDraft,
    saveDraft: store.saveDraft,
    async preview(question) {
      const { previewIn } = await import('../run/agent.ts');
      return previewIn(folder, directories())({ ...question, type: 'approval' });
    },
    async about({ toolName, arguments: args }) {
      const { changeProblem, openRoot } = await import('@treadle/tools');
      const problem = await changeProblem(openRoot(folder, { directories: directories() }), toolName, args);
      return problem === null ? null : `It would fail: ${problem.split('\n')[0] ?? ''}`;
    },
    edit: (text) => editText(text, io.env),
    mention: (text) => mentionOfPath(text, { folder, ...defined({ home: io.env['HOME'] }) }),
    clipboard: () => mentionOfClipboard(io.env),
    async content(text) {
      const { mentionedFiles } = await import('../prompt/mentions.ts');
      return [{ type: 'text', text }, ...(await mentionedFiles(text, { folder, env: io.env, note }))];
    },
    shell: (command, signal, shown) => shellOutput(command, { folder, env: io.env, signal, shown }),
  };
}

/** A folder as a shell shows it: below the home folder, from `~` on. */
function shownFolder(folder: string, home: string | undefined): string {
  if (home === undefined || home === '') return folder;
  const inside = relative(home, folder);
  if (inside === '') return '~';
  return inside.startsWith('..') || isAbsolute(inside) ? folder : join('~', inside);
}
