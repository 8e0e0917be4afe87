import { findFolderSettings, trustFolder, type FolderSettings } from '../../settings/combine.ts';
import type { CliIo } from '../io.ts';
import { contentLines, folderContents, type ContentKind, type FolderContents } from './folder-contents.ts';
import { exactLine } from './plain-text.ts';
import type { Terminal } from './terminal.ts';

/** A folder's settings, and whether what else it has may act. */
export interface FolderTrust {
  readonly settings: FolderSettings;
  readonly isTrusted: boolean;
}

/**
 * Whether a folder's own settings, hooks, skills, commands, agents and MCP servers act: because `--trust` says so, because
 * it was said before, or because the user at the terminal says so now, to one question that lists all of them. A no is
 * kept until the folder has something else. What isn't trusted is left alone, and one note says that.
 */
export async function folderTrust(
  folder: string,
  io: CliIo,
  how: {
    readonly trust: boolean;
    /** What this command would load: without any of it nothing is asked or said. */
    readonly wants: readonly ContentKind[];
    readonly terminal: Terminal;
    readonly stopped: Promise<unknown>;
    note(text: string): void;
  },
): Promise<FolderTrust> {
  const { terminal } = how;
  let found = await findFolderSettings(folder, io);
  if (found.isTrusted && !how.trust) return { settings: found, isTrusted: true };
  let contents = await folderContents(found, io);
  if (how.trust) return trusted(found, contents, io);
  const wantedOf = ({ rows }: FolderContents) => rows.filter(({ kind, acts }) => !acts && how.wants.includes(kind));
  if (wantedOf(contents).length === 0) return { settings: found, isTrusted: false };
  while (terminal.isThere && found.trust.get(folder)?.refused !== contents.digest) {
    const changes = changesOf(found).map(exactLine).join('; ');
    const state = changes === '' ? 'has not been trusted yet' : `is not as you trusted it (${changes})`;
    const question =
      `${exactLine(folder)} ${state}. If you trust it, it loads:\n${contentLines(contents)}` +
      `What it loads may run commands. Trust the folder? [y/n] `;
    const answer = (await terminal.ask(question, how.stopped))?.trim() ?? '';
    // Without a place to keep it, it is asked again.
    if (/^no?$/i.test(answer)) await refuse(found, contents).catch(() => {});
    if (!/^y(es)?$/i.test(answer)) break;
    const asked = contents;
    const now = await findFolderSettings(folder, io);
    contents = await folderContents(now, io);
    if (contents.digest === asked.digest) return trusted(now, contents, io);
    // The answer was about something else.
    found = now;
  }
  const paths = [...new Set(wantedOf(contents).map(({ path }) => exactLine(path)))].join(', ');
  const changes = changesOf(found).map(exactLine).join('; ');
  how.note(
    changes === ''
      ? `${paths} left alone: nobody has trusted this folder. --trust does. [folder_not_trusted]`
      : `${paths} left alone: ${changes}. --trust trusts it as it is now. [folder_changed]`,
  );
  return { settings: found, isTrusted: false };
}

/** What of a folder that was trusted once is not as it was. */
function changesOf({ folder, trust, state, unpinned }: FolderSettings): string[] {
  if (trust.get(folder)?.trusted !== true) return [];
  return [
    ...(state === 'changed'
      ? ['its settings changed since this folder was trusted, and only what denies and asks in them acts']
      : []),
    ...unpinned.flatMap(({ name, kind, why }) => (kind === 'output styles' ? [] : [`${name}: ${why}`])),
  ];
}

async function trusted(found: FolderSettings, { servers }: FolderContents, io: CliIo): Promise<FolderTrust> {
  const settings = await trustFolder(found);
  if (servers.length > 0) {
    const { openApprovals } = await import('../mcp/approvals.ts');
    await (await openApprovals(found.folder, io)).add(servers);
  }
  return { settings, isTrusted: true };
}

async function refuse({ folder, trust }: FolderSettings, { digest }: FolderContents): Promise<void> {
  await trust.update(folder, async (record) => ({
    ...(record ?? { trusted: false, project: null, local: null }),
    refused: digest,
  }));
}
