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
  post,
  shell,
  hint,
  opening,
}: {
  readonly host: TerminalHost;
  readonly ui: TerminalUi;
  post(input: SessionInput): Promise<void>;
  readonly shell: Shell;
  hint(text: string): void;
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
      await found.run(rest.trim(), ui);
      return;
    }
    const { closestName } = await import('@treadle/core/names');
    const meant = closestName(
      name,
      all.map((one) => one.name),
    );
    const hint = meant === undefined ? '/help shows those there are' : `Did you mean /${meant}`;
    ui.print(`There is no command /${name}. ${hint}${meant === undefined ? '.' : '?'}`, 'warn');
  }

  /** The model is told with the next message, or at once where it works. */
  async function run(line: string): Promise<void> {
    if (line === '') return;
    if (shell.running) {
      hint('A command runs: Esc ends it.');
      return;
    }
    const told = await shell.run(line);
    if (told === null) return;
    ui.ran(told);
    if (ui.state.run === null) shell.keep(told);
    else await post(typed('steering', [told]));
  }

  return {
    async say(text, kind) {
      if (/^\/[\w:-]+(?:\s|$)/.test(text)) return command(text);
      // As in a shell.
      if (/^(?:exit|quit)\s*$/.test(text)) return ui.leave();
      if (text.startsWith('!')) return run(text.slice(1).trim());
      const content = [...shell.take(), ...(await host.content(text))];
      await post(ui.state.run === null ? promptOf(content) : typed(kind, content));
    },
  };
}
