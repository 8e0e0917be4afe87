import type { ThinkingLevel } from '@treadle/core';

import { modelsFor } from '../../acp/models.ts';
import { plainLine, plainText } from '../../asking/plain-text.ts';
import type { SlashCommand, TerminalUi } from '../../../terminal/ui/host.ts';
import type { Workbench } from '../workbench.ts';
import { removeRule, ruleLine, rulesOf } from './rules.ts';

const THINKING: readonly ThinkingLevel[] = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Commands about the agent: its model, its rights, what it has. */
export function agentCommands(bench: Workbench): readonly SlashCommand[] {
  /** Opens the session again, with the agent as it is defined now. */
  const again = async (ui: TerminalUi): Promise<void> => {
    const { id } = ui.session;
    if (id === '') {
      await ui.show(bench.begin());
      return;
    }
    await ui.session.close();
    await ui.show(await bench.open(id));
  };
  const isBusy = (ui: TerminalUi): boolean => {
    if (ui.state.run === null) return false;
    ui.print('A run is open. Esc interrupts it; then change this.', 'warn');
    return true;
  };
  return [
    {
      name: 'model',
      about: 'another model',
      takes: '[provider/model]',
      async run(rest, ui) {
        if (isBusy(ui)) return;
        const names = [...(await modelsFor(bench.chosen.env)), 'demo'];
        const like = names.filter((name) => name.includes(rest));
        // A name with its provider is taken as it is: the list has those of providers with a key.
        const isName = rest.includes('/') || names.includes(rest);
        if (!isName && like.length === 0) {
          ui.print(
            `No model here is called ${plainLine(rest, 60)}. /model lists those of providers that have a key; /login adds one.`,
            'warn',
          );
          return;
        }
        const now = `${bench.definition.model.provider}/${bench.definition.model.id}`;
        const items = like.map((value) => ({ value, text: plainLine(value, 80), about: value === now ? 'now' : '' }));
        const name = isName
          ? rest
          : like.length === 1
            ? (like[0] ?? rest)
            : await ui.pick('Models', items, { at: like.indexOf(now) });
        if (name === null) return;
        const model = await bench.chosen.loadModel(name);
        bench.definition = { ...bench.definition, model };
        bench.shownModel(`${model.provider}/${model.id}`);
        await again(ui);
        ui.print(`The model is ${model.provider}/${model.id} from now on.`, 'dim');
      },
    },
    {
      name: 'login',
      about: 'keep the key of a provider, for the next start',
      takes: '[provider]',
      run: (rest, ui) => login(bench, rest, ui),
    },
    {
      name: 'thinking',
      about: 'how much the model thinks',
      takes: '[level]',
      async run(rest, ui) {
        if (isBusy(ui)) return;
        const known = THINKING.find((level) => level === rest);
        if (rest !== '' && known === undefined) {
          ui.print(`There is no level ${plainLine(rest, 40)}. The levels are ${THINKING.join(', ')}.`, 'warn');
          return;
        }
        const level =
          known ??
          (await ui.pick(
            'Thinking',
            THINKING.map((value) => ({ value, text: value, about: value === bench.definition.thinking ? 'now' : '' })),
            { at: THINKING.findIndex((value) => value === bench.definition.thinking) },
          ));
        if (level === null) return;
        bench.definition = { ...bench.definition, thinking: level };
        await again(ui);
        ui.print(`Thinking: ${level}.`, 'dim');
      },
    },
    {
      name: 'compact',
      about: 'make the conversation smaller; the log keeps all of it',
      takes: '[hint]',
      run: (rest, ui) => ui.session.post({ type: 'compact', ...(rest === '' ? {} : { instructions: rest }) }),
    },
    {
      name: 'permissions',
      about: 'what runs without a question; remove takes a rule back',
      takes: '[remove]',
      async run(rest, ui) {
        const rules = await rulesOf(bench.definition.permissions ?? {}, ui.session);
        if (rest === 'remove') {
          await removeRule(rules, ui);
          return;
        }
        ui.print([`mode ${ui.mode}; Shift+Tab changes it`, ...rules.map(ruleLine)].join('\n'));
      },
    },
    {
      name: 'tools',
      about: 'the tools that the model has, with those of MCP servers and skills',
      run(_, ui) {
        const tools = bench.definition.tools ?? [];
        ui.list(tools.map(({ name, description }) => [plainLine(name, 40), firstSentence(description)]));
      },
    },
    {
      name: 'mcp',
      about: 'the MCP servers, how they are doing, and their tools',
      run(_, ui) {
        const servers = bench.prepared.servers();
        if (servers.length > 0)
          ui.list(servers.map(({ name, state, problem }) => [plainLine(name, 40), plainLine(problem ?? state, 300)]));
        listed(
          bench,
          ui,
          (name) => name.includes('__'),
          servers.length === 0 ? 'No MCP server is configured. treadle mcp add adds one.' : 'They have no tools here.',
        );
      },
    },
    {
      name: 'agents',
      about: 'the agents that the model can give work to',
      run: (_, ui) =>
        listed(
          bench,
          ui,
          (name) => name === 'agent',
          'There are none. Markdown files in .claude/agents/ or .treadle/agents/ define agents.',
        ),
    },
    {
      name: 'skills',
      about: 'the skills that the model can use',
      run(_, ui) {
        const { skills } = bench.prepared;
        if (skills.length === 0) ui.print('There are none. treadle skills lists where they may be.', 'dim');
        else ui.list(skills.map(({ name, description }) => [plainLine(name, 40), firstSentence(description)]));
      },
    },
  ];
}

/** What runs keeps the keys out of that it knew when it began: a new one is for the next start. */
async function login({ context, asker }: Workbench, words: string, ui: TerminalUi): Promise<void> {
  const { io, interruptions } = context;
  const { askForKey, askForLogin, providerOf } = await import('../../login/choose.ts');
  const note = (text: string): void => ui.print(text, 'dim');
  const [name = '', ...more] = words.split(/\s+/);
  if (more.length > 0) throw new Error('Give the provider alone: the key is asked for, and not shown.');
  const asking = { io, terminal: asker, stopped: interruptions.first, note };
  const provider = name === '' ? null : await providerOf(name, io.env).catch(() => null);
  // The name may be a key: it is not shown.
  if (name !== '' && provider === null)
    throw new Error('There is no provider of this name. treadle models lists them.');
  const isKept = await (provider ? askForKey(provider, asking) : askForLogin(asking));
  note(isKept ? 'Kept, for the next start.' : 'Nothing was kept.');
  if (isKept && provider && io.env[provider.variable])
    ui.print(
      `${provider.variable} in the environment counts before the kept key. Unset it to use the kept key.`,
      'warn',
    );
}

const firstSentence = (text: string): string => plainLine(/^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text, 200);

function listed({ definition }: Workbench, ui: TerminalUi, is: (name: string) => boolean, none: string): void {
  const found = (definition.tools ?? []).filter(({ name }) => is(name));
  ui.print(
    found.length === 0
      ? none
      : found.map(({ name, description }) => `${plainLine(name, 60)}\n${plainText(description)}`).join('\n'),
  );
}
