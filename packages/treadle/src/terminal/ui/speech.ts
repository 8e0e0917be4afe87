import type { SessionInput } from '@treadle/core/events';

import { promptOf, typed } from '../session/session.ts';
import type { TerminalHost, TerminalUi } from './host.ts';
import type { Shell } from './shell.ts';

/** Does what a whole line says: a command of ours, a command of the shell's, or something for the model. */
export interface Speech {
  say(text: string, kind: 'steering' | 'follow_up'): Promise<void>;
}

export function createSpeech({
  host,
  ui,
  send,
  shell,
  notice,
  busy,
  opening,
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
    if (shell.place !== place) return;
    if (ui.state.run === null) shell.keep(told);
    else await send(typed('steering', [told]));
  }

  /** What commands have put out stands behind the message: the first text is what the session is called. */
  async function message(text: string, kind: 'steering' | 'follow_up'): Promise<void> {
    const said = await host.content(text);
    const told = shell.take();
    try {
      await send(ui.state.run === null ? promptOf([...said, ...told]) : typed(kind, [...said, ...told]));
    } catch (error) {
      for (const one of told) shell.keep(one);
      throw error;
    }
  }

  return {
    async say(text, kind) {
      if (/^\/[\w:-]+(?:\s|$)/.test(text)) return command(text);
      // As in a shell.
      if (/^(?:exit|quit)\s*$/.test(text)) return ui.leave();
      if (text.startsWith('!')) return run(text.slice(1).trim());
      return message(text, kind);
    },
  };
}
