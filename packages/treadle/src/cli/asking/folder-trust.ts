import { findFolderSettings, trustFolder, type FolderSettings } from '../../settings/combine.ts';
import { LOCAL_SETTINGS, PROJECT_SETTINGS } from '../../settings/settings.ts';
import type { CliIo } from '../io.ts';
import { exactLine, exactText } from './plain-text.ts';
import type { Terminal } from './terminal.ts';

/**
 * A folder's settings, and whether they act: because `--trust` says so, because it was said before, or because whoever is
 * at the terminal says so now. Otherwise they are left alone, and a note says that.
 */
export async function folderSettings(
  folder: string,
  io: CliIo,
  how: {
    readonly trust: boolean;
    readonly terminal: Terminal;
    readonly stopped: Promise<unknown>;
    note(text: string): void;
  },
): Promise<FolderSettings> {
  const found = await findFolderSettings(folder, io);
  if (how.trust) return trustFolder(found);
  if (found.state === 'none' || found.state === 'trusted') return found;
  const files = [...(found.project ? [PROJECT_SETTINGS] : []), ...(found.local ? [LOCAL_SETTINGS] : [])].join(' and ');
  if (how.terminal.isThere) {
    const said = found.state === 'changed' ? 'has changed since you trusted it' : 'has settings of its own';
    const shown = [found.project, found.local].flatMap((file) => (file ? [`${exactText(file.text.trim())}\n`] : []));
    const question = `${exactLine(folder)} ${said}, ${files}:\n${shown.join('')}They may run commands. Trust it? [y/n] `;
    const answer = await how.terminal.ask(question, how.stopped);
    if (answer !== null && /^y(es)?$/i.test(answer.trim())) return trustFolder(found);
  }
  how.note(
    found.state === 'changed'
      ? `${files} changed since this folder was trusted: only what denies and asks acts. --trust trusts it as it is now.`
      : `${files} left alone: nobody has trusted this folder. --trust does.`,
  );
  return found;
}
