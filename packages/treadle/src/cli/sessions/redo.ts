import type { Agent } from '@treadle/core';
import { branchSession, replaySession, rerunSession, type ReplayReport, type RunAgain } from '@treadle/core/history';

import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { helpText } from '../help.ts';
import { plainLine } from '../asking/plain-text.ts';
import { readRunRequest, type KeptIn } from '../run/request.ts';
import { runCommand } from '../run/command.ts';
import { UsageError } from '../usage-error.ts';

/** `treadle sessions rerun ID` and `replay ID`: with an agent, as `run` makes it of the same flags. */
export async function redoCommand(
  context: CommandContext,
  kind: 'rerun' | 'replay',
  args: readonly string[],
): Promise<number> {
  const [id, ...rest] = args;
  if (id === '--help' || id === '-h' || rest.includes('--help') || rest.includes('-h')) {
    context.out.print(helpText('sessions'));
    return EXIT.done;
  }
  if (id === undefined || id.startsWith('-'))
    throw new UsageError(`It is treadle sessions ${kind} ID, then the flags.`);
  const { values, others } = ownFlags(rest, kind);
  const isJson = values.has('json');
  const request = readRunRequest([
    ...others,
    '--resume',
    id,
    ...(isJson && kind === 'rerun' ? ['--output-format', 'json'] : []),
  ]);
  const runId = values.get('run');
  if (kind === 'rerun')
    return runCommand(context, {
      ...request,
      begin: (agent, kept, sessionId, texts) => rerun(agent, kept, sessionId, texts, runId),
    });
  if (request.prompt !== null) throw new UsageError('A replay has the prompts that were recorded. Leave this one out.');
  const turn = values.get('turn');
  if (turn !== undefined && !/^\d{1,6}$/.test(turn))
    throw new UsageError(`--turn takes a number from 0 on, and not '${turn}'.`);
  const replay = async (agent: Agent, kept: KeptIn, sessionId: string): Promise<number> => {
    const report = await replaySession(agent, sessionId, {
      ...kept,
      model: request.model === undefined ? 'recorded' : 'agent',
      onMiss: values.has('execute') ? 'execute' : 'stop',
      keep: values.has('keep'),
      ...(runId === undefined ? {} : { runId }),
      ...(turn === undefined ? {} : { turn: Number(turn) }),
    });
    context.out.print(isJson ? `${JSON.stringify(report)}\n` : reportText(report));
    return report.stopped === null ? EXIT.done : EXIT.error;
  };
  return runCommand(context, { ...request, stdin: 'never', instead: replay });
}

function rerun(
  agent: Agent,
  kept: KeptIn,
  sessionId: string,
  texts: readonly string[],
  runId: string | undefined,
): Promise<RunAgain> {
  const prompt = texts.map((text) => ({ type: 'text', text }) as const);
  if (prompt.length > 0) return branchSession(agent, sessionId, { ...kept, instead: runId ?? true, prompt });
  return rerunSession(agent, sessionId, { ...kept, ...(runId === undefined ? {} : { runId }) });
}

const WITH_VALUE: ReadonlySet<string> = new Set(['run', 'turn']);
const FLAGS = { rerun: new Set(['run', 'json']), replay: new Set(['run', 'turn', 'json', 'execute', 'keep']) } as const;

/** The flags that `run` doesn't have, and the rest. */
function ownFlags(
  args: readonly string[],
  kind: 'rerun' | 'replay',
): { readonly values: ReadonlyMap<string, string>; readonly others: readonly string[] } {
  const known: ReadonlySet<string> = FLAGS[kind];
  const values = new Map<string, string>();
  const others: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const [, name = '', given] = /^--([a-z]+)(?:=(.*))?$/s.exec(args[index] ?? '') ?? [];
    if (!known.has(name)) {
      others.push(args[index] ?? '');
      continue;
    }
    const value = WITH_VALUE.has(name) ? (given ?? args[(index += 1)]) : 'true';
    if (value === undefined) throw new UsageError(`--${name} needs a value.`);
    values.set(name, value);
  }
  return { values, others };
}

function reportText({ runs, differences, misses, unused, stopped, sessionId }: ReplayReport): string {
  const lines = runs.map(({ runId, status }) => `run\t${runId}\t${status}`);
  for (const { runId, turn, what, recorded, replayed } of differences) {
    lines.push(`differs\t${runId}${turn === null ? '' : ` turn ${turn}`}\t${what}`);
    lines.push(`  was  ${plainLine(recorded, 200)}`, `  is   ${plainLine(replayed, 200)}`);
  }
  for (const { toolName, arguments: args, executed } of misses) {
    lines.push(`missed\t${toolName}\t${plainLine(JSON.stringify(args), 200)}${executed ? '\texecuted' : ''}`);
  }
  for (const { toolName, arguments: args } of unused) {
    lines.push(`unused\t${toolName}\t${plainLine(JSON.stringify(args), 200)}`);
  }
  if (differences.length === 0 && stopped === null) lines.push('same');
  if (stopped !== null) lines.push(`stopped\t${plainLine(stopped, 300)}`);
  if (sessionId !== null) lines.push(`session\t${sessionId}`);
  return `${lines.join('\n')}\n`;
}
