import type { SessionInput } from '@treadle/core/events';

import { promptOf, typed } from '../session/session.ts';
import { PLAN_NOTE } from '../view/words.ts';
import type { TerminalHost, TerminalUi } from './host.ts';
import type { Shell } from './shell.ts';

/** Does what a whole line says: a command of ours, a command of the shell's, or something for the model. */
export interface Speech {
  /** @param kind a `prompt` begins another run, whatever is open */
  say(text: string, kind: SaidAs): Promise<void>;
  /** Messages that wait for the session to be ready. */
  readonly early: readonly string[];
  /** Takes them back. */
  takeEarly(): readonly string[];
}

export type SaidAs = 'prompt' | 'steering' | 'follow_up';

export function createSpeech({
  host,
  ui,
  send,
  shell,
  notice,
  busy,
  opening,
  ready,
}: {
  readonly host: TerminalHost;
  readonly ui: TerminalUi;
  /** Puts an input into the log. */
  send(input: SessionInput): Promise<void>;
  readonly shell: Shell;
  notice(text: string): void;
  /** Said when a command runs already. */
  readonly busy: string;
  /** The first session. */
  readonly opening: Promise<unknown>;
  /** What a message waits for: the first session, or the end of a compaction; null for nothing. */
  ready(): Promise<unknown> | null;
}): Speech {
  async function command(text: string): Promise<void> {
    const [, name = '', rest = ''] = /^\/(\S+)\s*([^]*)$/.exec(text) ?? [];
    await host.ready;
    await opening;
    const all = host.commands();
    const found = all.find((one) => one.name === name) ?? all.find(({ aliases = [] }) => aliases.includes(name));
    if (found) {
      if (found.name === 'stop' && shell.stop()) return;
      await found.run(rest.trim(), ui);
      return;
    }
    const { closestName } = await import('@treadle/core/names');
    const meant = closestName(
      name,
      all.map((one) => one.name),
    );
    const help = meant === undefined ? '/help shows those there are.' : `Did you mean /${meant}?`;
    ui.print(`There is no command /${name}. ${help}`, 'warn');
  }

  /** The model is told with the next message, or at once where it works. */
  async function run(line: string): Promise<void> {
    if (line === '') return;
    if (shell.running) {
      notice(busy);
      return;
    }
    const { place } = shell;
    const told = await shell.run(line);
    if (told === null) return;
    ui.ran(told);
    if (/^cd(?:\s|$)/.test(line))
      ui.print(`A command has a shell of its own: the session stays in ${host.folder}.`, 'dim');
    if (shell.place !== place) return;
    if (ui.state.run === null) shell.keep(told);
    else await send(typed('steering', [told]));
  }

  let early: { readonly text: string }[] = [];

  /** False when it was taken back before the session was ready. */
  async function isWanted(text: string): Promise<boolean> {
    const waited = ready();
    if (waited === null) return true;
    const one = { text };
    early.push(one);
    await waited;
    const isStill = early.includes(one);
    early = early.filter((other) => other !== one);
    return isStill;
  }

  /** What commands have put out stands behind the message: the first text is what the session is called. */
  async function message(text: string, kind: SaidAs): Promise<void> {
    if (!(await isWanted(text))) return;
    const said = await host.content(text);
    const told = shell.take();
    const isPlanning = (ui.state.mode ?? host.mode) === 'plan';
    const content = [...said, ...told, ...(isPlanning ? [PLAN_NOTE] : [])];
    try {
      const isFirst = kind === 'prompt' || ui.state.run === null;
      await send(isFirst ? promptOf(content) : typed(kind, content));
    } catch (error) {
      for (const one of told) shell.keep(one);
      throw error;
    }
  }

  return {
    get early() {
      return early.map(({ text }) => text);
    },
    takeEarly() {
      const taken = early.map(({ text }) => text);
      early = [];
      return taken;
    },
    async say(text, kind) {
      if (/^\/[\w:-]+(?:\s|$)/.test(text)) return command(text);
      // As in a shell.
      if (/^(?:exit|quit)\s*$/.test(text)) return ui.leave();
      if (text.startsWith('!')) return run(text.slice(1).trim());
      return message(text, kind);
    },
  };
}
