// `npm start`: the command line at work on this repository. Without a prompt it does a job that shows what it can do;
// `npm start -- "a prompt" --flags` does yours. It may change files here, because it names this folder.

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

// `--conditions=treadle-source` makes package names lead to sources: there need be no build.
import { demoPrompt } from '../packages/treadle/src/demo/prompt.ts';
import { findCommand } from '../packages/treadle/src/cli/commands.ts';
import { readRunRequest } from '../packages/treadle/src/cli/run/request.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The arguments for the command line; those that it can't use are its own to explain. */
function argumentsFor(argv: readonly string[]): readonly string[] {
  const command = findCommand(argv);
  if (command.name !== 'run') return argv;
  const request = usable(command.args);
  if (request === null || request.help || request.version) return argv;
  const folder = request.cwd === undefined ? [`--cwd=${root}`] : [];
  const isDemo = request.prompt === null && request.session.kind === 'new' && request.stdin !== 'always';
  if (isDemo) console.error(`treadle: ${demoPrompt}`);
  const demo = isDemo ? [`--prompt=${demoPrompt}`, ...(request.stdin === 'never' ? [] : ['--no-stdin'])] : [];
  return ['run', ...folder, ...demo, ...command.args];
}

function usable(args: readonly string[]): ReturnType<typeof readRunRequest> | null {
  try {
    return readRunRequest(args);
  } catch {
    return null;
  }
}

process.argv.splice(2, Number.POSITIVE_INFINITY, ...argumentsFor(process.argv.slice(2)));
await import('../packages/treadle/bin/treadle.js');
