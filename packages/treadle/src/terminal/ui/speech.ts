import type { SessionInput } from '@treadle/core/events';

import { promptOf, typed } from '../session/session.ts';
import type { TerminalHost, TerminalUi } from './host.ts';

/** Does what a whole line says: a command of ours, a command of the shell's, or something for the model. */
export interface Speech {
  say(text: string, kind: 'steering' | 'follow_up'): Promise<void>;
}

export function createSpeech({
  host,
  ui,
  post,
}: {
  readonly host: TerminalHost;
  readonly ui: TerminalUi;
  post(input: SessionInput): Promise<void>;
}): Speech {
  async function command(text: string): Promise<void> {
    const [, name = '', rest = ''] = /^\/(\S+)\s*([^]*)$/.exec(text) ?? [];
    await host.ready;
    const found = host.commands().find((one) => one.name === name);
    if (found) {
      await found.run(rest.trim(), ui);
      return;
    }
    const { closestName } = await import('@treadle/core/names');
    const meant = closestName(
      name,
      host.commands().map((one) => one.name),
    );
    const hint = meant === undefined ? '/help shows those there are' : `Did you mean /${meant}`;
    ui.print(`There is no command /${name}. ${hint}${meant === undefined ? '.' : '?'}`, 'warn');
  }

  async function shell(text: string): Promise<void> {
    const line = text.slice(1).trim();
    if (line === '') return;
    const output = await host.shell(line);
    ui.print(`! ${line}\n${output}`, 'dim');
    const said = `I ran this command:\n\n! ${line}\n\n${output}`;
    await post(typed('steering', [{ type: 'text', text: said }]));
  }

  return {
    async say(text, kind) {
      if (/^\/[\w:-]+(?:\s|$)/.test(text)) return command(text);
      if (text.startsWith('!')) return shell(text);
      const content = await host.content(text);
      await post(ui.state.run === null ? promptOf(content) : typed(kind, content));
    },
  };
}
