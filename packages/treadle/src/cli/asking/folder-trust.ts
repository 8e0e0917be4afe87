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
  const found = await findFolderSettings(folder, io);
  const record = found.trust.get(folder);
  const isTrusted = record?.trusted === true && found.state !== 'changed';
  if (isTrusted && !how.trust) return { settings: found, isTrusted };
  const contents = await folderContents(found, io);
  if (how.trust) return trusted(found, contents, io);
  const wanted = contents.rows.filter(({ kind }) => how.wants.includes(kind));
  if (wanted.length === 0) return { settings: found, isTrusted };
  if (terminal.isThere && record?.refused !== contents.digest) {
    const state = found.state === 'changed' ? 'has changed since you trusted it' : 'has not been trusted yet';
    const question =
      `${exactLine(folder)} ${state}. If you trust it, it loads:\n${contentLines(contents)}` +
      `What it loads may run commands. Trust the folder? [y/n] `;
    const answer = (await terminal.ask(question, how.stopped))?.trim() ?? '';
    if (/^y(es)?$/i.test(answer)) return trusted(found, contents, io);
    // Without a place to keep it, it is asked again.
    if (/^no?$/i.test(answer)) await refuse(found, contents).catch(() => {});
  }
  const paths = [...new Set(wanted.map(({ path }) => exactLine(path)))].join(', ');
  how.note(
    found.state === 'changed'
      ? `${paths} left alone: changed since this folder was trusted; only what denies and asks acts. --trust trusts it as it is now.`
      : `${paths} left alone: nobody has trusted this folder. --trust does.`,
  );
  return { settings: found, isTrusted: false };
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
