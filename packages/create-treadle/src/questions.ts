import type { Interface } from 'node:readline/promises';

import type { Arguments } from './arguments.ts';
import { isTemplate, TEMPLATES, type Template } from './templates.ts';

/** Everything that is needed to write a project. */
export interface Answers {
  readonly folder: string;
  readonly template: Template;
  readonly install: boolean;
}

const DEFAULTS: Answers = { folder: 'my-agent', template: 'terminal', install: true };

/** Completes what the command line says: with the defaults, or by asking. `terminal` is null where nobody can answer. */
export async function complete(given: Arguments, terminal: Interface | null): Promise<Answers> {
  if (given.yes || terminal === null) return { ...DEFAULTS, ...chosen(given) };
  const folder = given.folder ?? (await askText(terminal, 'Folder', DEFAULTS.folder));
  const template = given.template ?? (await askTemplate(terminal));
  const install = given.install ?? (await askYes(terminal, 'Install the dependencies with npm?'));
  return { folder, template, install };
}

/** Without the options that are no answers. */
function chosen({ yes: _yes, help: _help, ...answers }: Arguments): Partial<Answers> {
  return answers;
}

async function askText(terminal: Interface, question: string, preset: string): Promise<string> {
  return (await terminal.question(`${question} (${preset}): `)).trim() || preset;
}

async function askYes(terminal: Interface, question: string): Promise<boolean> {
  const answer = (await terminal.question(`${question} (Y/n): `)).trim().toLowerCase();
  return answer === '' || answer.startsWith('y');
}

/** Asks until the answer is the number or the name of a template. */
async function askTemplate(terminal: Interface): Promise<Template> {
  const names = Object.keys(TEMPLATES).filter(isTemplate);
  const list = names.map((name, index) => `  ${String(index + 1)}  ${name.padEnd(10)} ${TEMPLATES[name]}`).join('\n');
  for (;;) {
    const answer = await askText(terminal, `${list}\nTemplate`, '1');
    const name = names[Number(answer) - 1] ?? answer;
    if (isTemplate(name)) return name;
  }
}
