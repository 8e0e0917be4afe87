import type { Agent, UserContent } from '@treadle/core';
import { branchSession, replaySession, rerunSession, type ReplayReport, type RunAgain } from '@treadle/core/history';

import { REDO_OPTIONS, RUN_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { defined } from '../defined.ts';
import { EXIT } from '../exit-codes.ts';
import { helpText } from '../help.ts';
import { printed } from '../io.ts';
import { plainLine } from '../asking/plain-text.ts';
import { parseOptions, type OptionTable } from '../options.ts';
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
  if (id === '--help' || id === '-h' || rest.includes('--help') || rest.includes('-h'))
    return printed(context.out, helpText('sessions'));
  if (id === undefined || id.startsWith('-'))
    throw new UsageError(`It is treadle sessions ${kind} ID, then the flags.`);
  const { run, json } = REDO_OPTIONS;
  const table = { ...RUN_OPTIONS, ...(kind === 'rerun' ? { run, json } : REDO_OPTIONS) };
  const options = parseOptions<OptionTable>(rest, table);
  const request = readRunRequest([...rest, '--resume', id], table);
  const isJson = options.flag('json');
  const runId = options.text('run');
  if (kind === 'rerun')
    return runCommand(context, {
      ...request,
      format: isJson ? 'json' : request.format,
      begin: (agent, kept, sessionId, content) => rerun(agent, kept, sessionId, content, runId),
    });
  if (request.prompt !== null) throw new UsageError('A replay has the prompts that were recorded. Leave this one out.');
  const turn = options.text('turn');
  if (turn !== undefined && !/^\d{1,6}$/.test(turn))
    throw new UsageError(`--turn takes a number from 0 on, and not '${turn}'.`);
  const replay = async (agent: Agent, kept: KeptIn, sessionId: string): Promise<number> => {
    const report = await replaySession(agent, sessionId, {
      ...kept,
      model: request.model === undefined ? 'recorded' : 'agent',
      onMiss: options.flag('execute') ? 'execute' : 'stop',
      keep: options.flag('keep'),
      ...defined({ runId, turn: turn === undefined ? undefined : Number(turn) }),
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
  prompt: readonly UserContent[],
  runId: string | undefined,
): Promise<RunAgain> {
  if (prompt.length > 0) return branchSession(agent, sessionId, { ...kept, instead: runId ?? true, prompt });
  return rerunSession(agent, sessionId, { ...kept, ...defined({ runId }) });
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
