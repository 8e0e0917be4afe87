// A folder, a provider whose replies a test writes, and terminals that work with both.

import type { DurableEvent } from '@treadle/core';
import { sqliteJournal } from '@treadle/store';
import { fakeProvider, type FakeProvider, type ProviderRequest, type ProviderTurn } from '@treadle/testing';

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { temporaryFolder } from './harness.ts';
import { startInTerminal, type TerminalOptions, type TerminalProcess } from './terminal-process.ts';

/** A reply, or what makes one of the request. */
type Reply = ProviderTurn | string | ((request: ProviderRequest, index: number) => ProviderTurn | string);

/** The status row of a terminal of such a world: it says that the session can begin. */
export const STATUS = /anthropic\/x · (?:default|acceptEdits|plan|bypassPermissions)/;

export interface TerminalWorld extends AsyncDisposable {
  readonly folder: string;
  readonly home: string;
  readonly provider: FakeProvider;
  /** Starts `treadle` with these arguments; `command` starts another program with the same environment. */
  open(args?: readonly string[], options?: Partial<TerminalOptions>): TerminalProcess;
  put(path: string, text: string): Promise<void>;
  read(path: string): Promise<string>;
  /** The events of the folder's newest session. */
  log(): Promise<DurableEvent[]>;
}

export async function terminalWorld(
  turns: readonly Reply[] | ((request: ProviderRequest, index: number) => ProviderTurn | string),
  options: { readonly chunkSize?: number } = {},
): Promise<TerminalWorld> {
  const top = await temporaryFolder();
  const folder = join(top.path, 'project');
  await mkdir(folder);
  const provider = await fakeProvider(turns, options);
  const terminals: TerminalProcess[] = [];
  return {
    folder,
    home: top.path,
    provider,
    open(args = [], { env = {}, ...more } = {}) {
      const own = {
        HOME: top.path,
        TREADLE_MODEL: 'anthropic/x',
        ANTHROPIC_BASE_URL: provider.anthropicBaseUrl,
        ANTHROPIC_API_KEY: 'sk-of-the-test',
      };
      const opened = startInTerminal(args, { cwd: folder, ...more, env: { ...own, ...env } });
      terminals.push(opened);
      return opened;
    },
    async put(path, text) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    },
    read: (path) => readFile(join(folder, path), 'utf8'),
    async log() {
      const journal = sqliteJournal({ path: join(top.path, '.treadle/sessions.db') });
      try {
        const { sessions } = await journal.list({ limit: 1 });
        const events: DurableEvent[] = [];
        for await (const event of journal.read(sessions[0]?.sessionId ?? '', 1)) events.push(event);
        return events;
      } finally {
        await journal.close();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const one of terminals) await one[Symbol.asyncDispose]();
      await provider.close();
      await top[Symbol.asyncDispose]();
    },
  };
}

/** So many characters of Markdown of every kind, with nine headings, and END at its end. */
export function longReply(characters: number): string {
  const parts: string[] = [];
  for (let heading = 1; heading <= 9; heading += 1) {
    const section = [
      `## Heading ${heading}`,
      `A paragraph with **bold words**, *slanted ones*, \`code\` and a [link](https://example.com/${heading}).`,
      `- first of ${heading}\n- second, with 你好，世界 and 👩‍👩‍👧\n- third`,
      `\`\`\`ts\nexport const value${heading}: number = ${heading};\nconsole.log(value${heading});\n\`\`\``,
      `| name | value |\n| --- | --- |\n| row${heading} | ${heading * 7} |\n| other | 世界 |`,
    ];
    for (let line = 1; section.join('\n\n').length < characters / 9 - 80; line += 1)
      section.push(`Sentence ${heading}-${line} says that the tide comes in, stays for a while, and goes out again.`);
    parts.push(...section);
  }
  return `${parts.join('\n\n')}\n\nEND`;
}

/** How often a text has another one. */
export const times = (text: string, what: string): number => text.split(what).length - 1;

/** Answers the menu that is shown. Keys count once it has been there for a moment. */
export async function choose(terminal: TerminalProcess, key: string): Promise<void> {
  await terminal.shows('no, and say why');
  await new Promise((resolve) => setTimeout(resolve, 400));
  terminal.type(key);
}
