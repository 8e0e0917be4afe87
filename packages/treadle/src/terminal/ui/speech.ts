import type { SessionInput } from '@treadle/core/events';

import { promptOf, typed } from '../session/session.ts';
import { modeNotes } from '../view/words.ts';
import type { ViewState } from '../view/state.ts';
import type { TerminalHost, TerminalUi } from './host.ts';
import type { Shell } from './shell.ts';

/** Does what a whole line says: a command of ours, a command of the shell's, or something for the model. */
export interface Speech {
  /** @param kind a `prompt` begins another run, whatever is open */
  say(text: string, kind: SaidAs): Promise<void>;
  /** Messages that wait for the session, or for the end of a compaction. */
  readonly early: readonly string[];
  /** Takes them back. */
  takeEarly(): readonly string[];
}

/** Whose business a line is: a command of ours, the end, a command of the shell's, or the model's. */
export function kindOf(text: string): 'command' | 'leave' | 'shell' | 'message' {
  // With a key behind it, it must never be a message.
  if (/^(?:\s*\/lo\w*|\/[\w:-]+)(?:\s|$)/i.test(text)) return 'command';
  // As in a shell.
  if (/^(?:exit|quit)\s*$/.test(text)) return 'leave';
  return text.startsWith('!') ? 'shell' : 'message';
}

/** A compaction with no run open: no message goes out until it is over. */
export interface CompactionWatch {
  /** Null while none goes on. */
  readonly ended: Promise<void> | null;
  note(state: Pick<ViewState, 'run' | 'status'>): void;
}

export function watchCompaction(): CompactionWatch {
  let open: PromiseWithResolvers<void> | null = null;
  return {
    get ended() {
      return open?.promise ?? null;
    },
    note({ run, status }) {
      if (run === null && status !== null) open ??= Promise.withResolvers();
      else {
        open?.resolve();
        open = null;
      }
    },
  };
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
  isCutOff,
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
  /** The run broke off, and nobody has said what is to become of it. */
  isCutOff(): boolean;
}): Speech {
  async function command(text: string): Promise<void> {
    const [, name = '', rest = ''] = /^\s*\/(\S+)\s*([^]*)$/.exec(text) ?? [];
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
    if (ui.state.run === null || isCutOff()) shell.keep(told);
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

  /** The output of commands stands behind the message: the first text names the session. */
  async function message(text: string, kind: SaidAs): Promise<void> {
    if (!(await isWanted(text))) return;
    if (shell.running) notice('Your command still runs: a later message tells its output.');
    const said = await host.content(text);
    const told = shell.take();
    const content = [...said, ...told, ...modeNotes(ui.mode)];
    try {
      const isFirst = kind === 'prompt' || ui.state.run === null;
      await send(isFirst ? promptOf(content) : typed(kind, content));
    } catch (error) {
      for (const one of told) shell.keep(one);
      throw error;
    }
  }

  const acts: Readonly<Record<ReturnType<typeof kindOf>, (text: string, kind: SaidAs) => Promise<void> | void>> = {
    command,
    leave: () => ui.leave(),
    shell: (text) => run(text.slice(1).trim()),
    message,
  };

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
      await acts[kindOf(text)](text, kind);
    },
  };
}
