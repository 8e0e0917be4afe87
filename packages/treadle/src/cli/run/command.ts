import {
  createSession,
  defineAgent,
  openSession,
  TreadleError,
  type Agent,
  type Run,
  type Session,
  type UserContent,
} from '@treadle/core';

import { hostname } from 'node:os';

import { chooseParts, prepareAgent, previewIn } from './agent.ts';
import { startBranches } from './branches.ts';
import { driveRun, type Terminals } from './drive-run.ts';
import type { CommandContext } from '../context.ts';
import { withCommand } from './prompt-commands.ts';
import { openLive } from '../sessions/live.ts';
import { createRunOutput, type RunOutput } from '../output/run-output.ts';
import { promptContent, promptTexts, type KeptIn, type RunRequest } from './request.ts';
import { openTerminal, readLines } from '../asking/terminal.ts';
import { realFolder } from '../sessions/folder-sessions.ts';
import { telemetry } from '../serve/telemetry.ts';
import { UsageError } from '../usage-error.ts';

/** `treadle run`: one prompt, one run, until it ends. Returns the exit code. */
export async function runCommand(context: CommandContext, request: RunRequest): Promise<number> {
  const { io, interruptions } = context;
  // What costs nothing to find wrong is found before anything is read, opened or asked.
  if (request.cwd !== undefined) await realFolder(io.cwd, request.cwd);
  const terminals = terminalsOf(context, request);
  const typed = io.stdin.isTTY === true ? await promptTexts(io, request, context.note) : null;
  const chosen = await chooseParts(context, request, terminals.permissions);
  const { note, model, choice, loadModel } = chosen;
  const texts = typed ?? (await interruptions.unless(promptTexts(io, request, note)));
  const asks = request.branches === null ? terminals.permissions : { ...terminals.permissions, isThere: false };
  const prepared = await prepareAgent(context, chosen, request, asks);
  try {
    const { journal, place, rights, definition, toolsIn, kept } = prepared;
    // What was only piped in is nobody's command.
    const said =
      request.prompt === null
        ? texts
        : await interruptions.unless(withCommand(texts, { io, folder: place.folder, note }, rights));
    const content = await promptContent(io, request, said, place.folder, note);
    const agent = defineAgent(definition);
    const output = createRunOutput(request.format, { io, out: context.out, agent, note });
    const { sessionId } = place;
    if (request.instead && sessionId !== null) return await request.instead(agent, kept, sessionId);
    const again = request.begin && sessionId !== null ? await request.begin(agent, kept, sessionId, content) : null;
    const session = again?.session ?? (await openOrCreate(kept, sessionId, agent, output));
    if (choice.reason !== null) note(`Model: ${model.provider}/${model.id} (${choice.reason}).`);
    const begin = async (): Promise<Run> => {
      if (again) return again.run;
      if (request.branches === null) return startRun(session, content);
      const { folder } = place;
      const { branches } = request;
      return startBranches(session, content, { io, note, request: branches, definition, folder, toolsIn, loadModel });
    };
    const live = await openLive(io, request.save);
    live.add(session);
    const stopTracing = request.telemetry ? (await telemetry())(session) : null;
    try {
      const { aboutCommands } = rights;
      const preview = previewIn(place.folder, rights.permissions.directories);
      const inHand = { session, journal, begin, output, terminals, aboutCommands, preview };
      const code = await driveRun({ ...context, note }, inHand);
      // All is printed; whoever doesn't want to wait for a title goes.
      if (request.title) await Promise.race([session.settled(), interruptions.first]);
      return code;
    } finally {
      stopTracing?.();
      await live.close();
    }
  } finally {
    await prepared.close();
  }
}

function terminalsOf({ io, out, err }: CommandContext, { format }: RunRequest): Terminals {
  const lines = readLines(io.stdin);
  const permissions = openTerminal(io, err, lines);
  return {
    user: openTerminal(io, out, lines),
    permissions: { ...permissions, isThere: permissions.isThere && format === 'text' },
  };
}

async function openOrCreate(kept: KeptIn, sessionId: string | null, agent: Agent, output: RunOutput): Promise<Session> {
  const options = { ...kept, owner: `treadle, process ${process.pid} on ${hostname()}` };
  if (sessionId !== null) return openSession(agent, sessionId, options);
  const session = await createSession(agent, options);
  // The run's own events begin after it, and a reader of the log's beginning wants it whole.
  for await (const event of kept.journal.read(session.id, 1)) output.take(event);
  return session;
}

/** The run that was asked for: a prompt, or the one that was cut off, or another go at the history as it is. */
function startRun(session: Session, content: readonly UserContent[]): Run {
  if (content.length > 0) return session.prompt(content);
  if (session.status !== 'idle') return session.resume();
  try {
    return session.continue();
  } catch (error) {
    if (!(error instanceof TreadleError)) throw error;
    throw new UsageError(`Session ${session.id} has nothing left to do. Give a prompt to go on with.`);
  }
}
