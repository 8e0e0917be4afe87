import { parseArgs } from 'node:util';

import { CreateProblem } from './problem.ts';
import { isTemplate, TEMPLATES, templateNames, type Template } from './templates.ts';

/** What the command line says. What it leaves out is asked. */
export interface Arguments {
  readonly folder?: string;
  readonly template?: Template;
  readonly install?: boolean;
  /** Takes the default of everything that is left out. */
  readonly yes: boolean;
  readonly help: boolean;
}

export const HELP = `Usage: npm create treadle@latest [folder] -- [options]

Options:
  --template NAME   ${templateNames()}
  --yes             ask nothing: folder my-agent, template terminal, install
  --no-install      leave the dependencies to you
  --help            show this

Templates:
${Object.entries(TEMPLATES)
  .map(([name, title]) => `  ${name.padEnd(16)}  ${title}`)
  .join('\n')}
`;

/** @throws CreateProblem for an option or a template that doesn't exist */
export function readArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parse(args);
  const [folder, ...more] = positionals;
  if (more.length > 0) throw new CreateProblem(`Expected one folder, and got ${positionals.join(', ')}.`);
  const { template } = values;
  if (template !== undefined && !isTemplate(template)) {
    throw new CreateProblem(`There is no template ${template}. Choose one of: ${templateNames()}.`);
  }
  const install = values['no-install'] === true ? false : undefined;
  return {
    yes: values.yes === true,
    help: values.help === true,
    ...(folder !== undefined && { folder }),
    ...(template !== undefined && { template }),
    ...(install !== undefined && { install }),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        template: { type: 'string', short: 't' },
        yes: { type: 'boolean', short: 'y' },
        'no-install': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new CreateProblem(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
  }
}
