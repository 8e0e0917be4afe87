import {
  createSession,
  defineAgent,
  errorText,
  openSession,
  TreadleError,
  type Agent,
  type Journal,
  type Run,
  type RunResult,
  type Session,
  type Tool,
} from '@treadle/core';

import { hostname } from 'node:os';

import { answersFor, type Asking } from './ask-user.ts';
import { chooseModel } from './choose-model.ts';
import { EXIT, exitCodeOf, SIGNAL_EXIT } from './exit-codes.ts';
import { agentIdOf, folderOfSession, latestSession, realFolder, sessionOf } from './folder-sessions.ts';
import { defaultInstructions } from './instructions.ts';
import { projectInstructionsOf } from './project-instructions.ts';
import type { CommandContext } from './context.ts';
import type { CliIo } from './io.ts';
import { unsavedJournal } from './parts.ts';
import { checkAllow, gateTools, type PermissionDenial } from './permissions.ts';
import { createRunOutput, type RunOutput } from './run-output.ts';
import { promptTexts, type RunRequest } from './run-request.ts';
import { openTerminal } from './terminal.ts';
import { suggestion, UsageError } from './usage-error.ts';

/** `treadle run`: one prompt, one run, until it ends. Returns the exit code. */
export async function runCommand(context: CommandContext, request: RunRequest): Promise<number> {
  const { io, parts, note, interruptions } = context;
  // What costs nothing to find wrong is found before anything is read, opened or asked.
  if (request.cwd !== undefined) await realFolder(io.cwd, request.cwd);
  const choice = chooseModel(request.model, io.env);
  const model = await parts.model(choice.name, io.env);
  const texts = await interruptions.unless(promptTexts(io, request, note));

  const journal = await (request.save ? parts.journal(io) : unsavedJournal());
  try {
    const denials: PermissionDenial[] = [];
    const place = await findPlace(journal, io, request);
    const tools = await toolsFor(place.folder, request, denials, note);
    const projectInstructions = request.instructions ? await projectInstructionsOf(place.folder, note) : '';
    const agent = defineAgent({
      id: agentIdOf(place.folder),
      model,
      instructions: request.system ?? defaultInstructions(place.folder),
      projectInstructions,
      tools,
      // The gate in front of the tools decides.
      permissions: { mode: 'bypass', allowBypass: true },
      // Whoever names the tools gets no other one.
      context: { recall: request.tools === undefined },
      limits: request.limits,
    });
    const output = createRunOutput(request.format, { io, out: context.out, agent, note });
    const session = await openOrCreate(journal, place.sessionId, agent, output);
    if (choice.reason !== null) note(`Model: ${model.provider}/${model.id} (${choice.reason}).`);
    return await driveRun(context, { session, texts, output, denials });
  } finally {
    await journal.close();
  }
}

interface Place {
  /** A real path. */
  readonly folder: string;
  /** Null for a new session. */
  readonly sessionId: string | null;
}

/** A session that is named works where it was started, unless `--cwd` moves it. */
async function findPlace(journal: Journal, io: CliIo, { session, cwd }: RunRequest): Promise<Place> {
  if (session.kind === 'id') {
    const sessionId = await sessionOf(journal, session.id);
    const own = cwd ?? (await folderOfSession(journal, sessionId)) ?? '.';
    const folder = await realFolder(io.cwd, own).catch((error: unknown) => {
      if (cwd !== undefined || !(error instanceof UsageError)) throw error;
      throw new UsageError(`${error.message} Session ${session.id} worked there: name another one with --cwd FOLDER.`);
    });
    return { folder, sessionId };
  }
  const folder = await realFolder(io.cwd, cwd ?? '.');
  return { folder, sessionId: session.kind === 'latest' ? await latestSession(journal, folder) : null };
}

async function toolsFor(
  folder: string,
  request: RunRequest,
  denials: PermissionDenial[],
  note: (text: string) => void,
): Promise<Tool[]> {
  const { askUserTool, builtInTools, todoTool } = await import('@treadle/tools');
  const all = [...builtInTools({ root: folder }), todoTool(), askUserTool()];
  const names = all.map(({ name }) => name);
  checkAllow(request.allow, names);
  const permissions = { allow: request.allow, folderNamed: request.cwd !== undefined };
  return gateTools(chosenTools(all, names, request.tools), permissions, (denial, { label }) => {
    const isFirst = !denials.some(({ toolName }) => toolName === denial.toolName);
    denials.push(denial);
    if (isFirst) note(`Refused: ${denial.toolName} (${label}). To allow it, run again with ${denial.allowWith}.`);
  });
}

function chosenTools(all: readonly Tool[], names: readonly string[], wanted: readonly string[] | undefined): Tool[] {
  if (wanted === undefined) return [...all];
  if (wanted.length === 0 || (wanted.length === 1 && wanted[0] === 'none')) return [];
  for (const name of wanted) {
    if (names.includes(name)) continue;
    throw new UsageError(
      `--tools doesn't know '${name}'.${suggestion(name, names)} There are: ${names.join(', ')}; or none.`,
    );
  }
  return all.filter(({ name }) => wanted.includes(name));
}

async function openOrCreate(
  journal: Journal,
  sessionId: string | null,
  agent: Agent,
  output: RunOutput,
): Promise<Session> {
  const options = { journal, owner: `treadle, process ${process.pid} on ${hostname()}` };
  if (sessionId !== null) return openSession(agent, sessionId, options);
  const session = await createSession(agent, options);
  // The run's own events begin after it, and a reader of the log's beginning wants it whole.
  for await (const event of journal.read(session.id, 1)) output.take(event);
  return session;
}

/** The run that was asked for: a prompt, or the one that was cut off, or another go at the history as it is. */
function startRun(session: Session, texts: readonly string[]): Run {
  if (texts.length > 0) return session.prompt(texts.map((text) => ({ type: 'text', text })));
  if (session.hasOpenRun) return session.resume();
  try {
    return session.continue();
  } catch (error) {
    if (!(error instanceof TreadleError)) throw error;
    throw new UsageError(`Session ${session.id} has nothing left to do. Give a prompt to go on with.`);
  }
}

interface RunInHand {
  readonly session: Session;
  readonly texts: readonly string[];
  readonly output: RunOutput;
  readonly denials: readonly PermissionDenial[];
}

async function driveRun(context: CommandContext, { session, texts, output, denials }: RunInHand): Promise<number> {
  const { io, out, note, interruptions } = context;
  const startedAt = io.now();
  const run = startRun(session, texts);
  let left = false;
  let isOver = false;
  let isAsking = false;
  const stops = Promise.withResolvers<string>();
  const stop = (reason: string): void => {
    stops.resolve(reason);
    // The last of the output may fail when there is nothing left to stop; a paused run is ended where it is waited for.
    if (isOver || isAsking) return;
    // When the journal can't take the cancellation, the run fails for the same reason and says so.
    session.abort(reason).catch((error: unknown) => note(`The run could not be cancelled: ${errorText(error)}`));
  };
  out.onClosed(() => {
    left = true;
    stop(out.failure === null ? 'The reader of the output went away.' : 'The output could not be written.');
  });
  interruptions.onFirst((signal) => {
    note(`${signal}: ending the run. Once more ends the process at once.`);
    stop(`Interrupted by ${signal}.`);
  });
  const isStopped = (): boolean => left || interruptions.signal !== null;
  const asking: Asking = { terminal: openTerminal(io, out), out, stopped: stops.promise, isStopped };
  let result = await follow(context, run, output);
  while (result.end === 'paused') {
    isAsking = true;
    const answers = await answersFor(result.pending, asking);
    if (answers === null) {
      if (isStopped()) result = await endPaused(session, result, await stops.promise);
      break;
    }
    isAsking = false;
    result = await follow(context, session.submitToolResults(answers), output);
  }
  isOver = true;
  if (!left)
    output.end({ sessionId: session.id, agent: session.agent, result, denials, durationMs: io.now() - startedAt });
  if (interruptions.signal !== null) return SIGNAL_EXIT[interruptions.signal];
  return left ? EXIT.closedPipe : exitCodeOf(result.end, denials.length > 0);
}

/** Prints a run's events as they come, to its end or its pause. */
async function follow({ out, interruptions }: CommandContext, run: Run, output: RunOutput): Promise<RunResult> {
  for await (const event of run) {
    output.take(event);
    // A reader that doesn't read must not keep an interrupted process alive.
    const clogged = out.flowing();
    if (clogged) await Promise.race([clogged, interruptions.first]);
  }
  return run.result;
}

/** Ends a run that waits for an answer nobody will give any more. */
async function endPaused(session: Session, result: RunResult, reason: string): Promise<RunResult> {
  await session.abort(reason);
  return { ...result, end: 'aborted', message: reason, pending: [] };
}
