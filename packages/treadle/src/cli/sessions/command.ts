import { sessionsOf, type DurableEvent, type Journal } from '@treadle/core';
import type { SessionSummary } from '@treadle/core/journal';
import { initialState, reduce } from '@treadle/core/kernel';

import { SESSIONS_COMMANDS, type SessionsCommand } from '../commands.ts';
import { defined } from '../defined.ts';
import { EXIT } from '../exit-codes.ts';
import { agentIdOf, folderOf, formerFolder } from './folder-sessions.ts';
import { helpText, infoText } from '../help.ts';
import { printed } from '../io.ts';
import { exportSession, fork, remove, rename, search, tag, tree } from './manage.ts';
import { redoCommand } from './redo.ts';
import { parseOptions, type OptionTable } from '../options.ts';
import { plainLine } from '../asking/plain-text.ts';
import type { CommandContext } from '../context.ts';
import { costLines, readCosts } from './cost.ts';
import { rewindFromFlags, rewindLines } from './rewind.ts';
import { formatTranscript, transcriptFormat } from './transcript.ts';
import { sessionTasks } from './tasks.ts';
import { styleFor } from '../style.ts';
import { createTextOutput } from '../output/text-output.ts';
import { toolLabels } from '../output/tool-labels.ts';
import { suggestion, UsageError } from '../usage-error.ts';
import { idOf, say, type Work, type Worker } from './work.ts';

const PAGE = 20;

type Name = Exclude<keyof typeof SESSIONS_COMMANDS, 'rerun' | 'replay'>;

/** What each command does. Those two need an agent. */
const WORKERS: Readonly<Record<Name, Worker>> = {
  list,
  show,
  cost,
  tasks,
  rewind,
  search,
  tree,
  fork,
  export: exportSession,
  rename,
  tag,
  delete: remove,
};

const isName = (word: string | undefined): word is Name => word !== undefined && Object.hasOwn(WORKERS, word);

/** `treadle sessions …`. Returns the exit code. */
export async function sessionsCommand(context: CommandContext, args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  if (command === 'rerun' || command === 'replay') return redoCommand(context, command, rest);
  if (isName(command)) return work(context, command, WORKERS[command], rest);
  if (command === '--help' || command === '-h') return printed(context.out, helpText('sessions'));
  const names = Object.keys(SESSIONS_COMMANDS);
  const given = command === undefined ? 'treadle sessions needs a command' : `Unknown command 'sessions ${command}'`;
  const hint = command === undefined ? '' : suggestion(command, names, 'sessions ');
  throw new UsageError(`${given}.${hint} There are: ${names.map((name) => `sessions ${name}`).join(', ')}.`);
}

async function work(context: CommandContext, name: Name, worker: Worker, args: readonly string[]): Promise<number> {
  const { usage, words: limits, options: table }: SessionsCommand = SESSIONS_COMMANDS[name];
  const options = parseOptions<OptionTable>(args, table);
  const info = infoText('sessions', options);
  if (info !== null) return printed(context.out, info);
  const words = options.positionals;
  const [least, most] = limits;
  const extra = words[most];
  if (extra !== undefined) throw new UsageError(`'${extra}' is too much: it is treadle sessions ${usage}.`);
  if (words.length < least) {
    const needs = usage.includes(' ID') && words.length === 0 ? ' needs the id of a session' : '';
    throw new UsageError(needs === '' ? `It is treadle sessions ${usage}.` : `treadle sessions ${name}${needs}.`);
  }
  const journal = await context.parts.journal(context.io);
  try {
    await context.interruptions.unless(worker({ context, journal, sessions: sessionsOf(journal), words, options }));
    return context.out.isClosed ? EXIT.closedPipe : EXIT.done;
  } finally {
    await journal.close();
  }
}

async function list({ context, journal, options }: Work): Promise<void> {
  const { out, note, io } = context;
  const [cwd, cursor] = [options.text('cwd'), options.text('cursor')];
  if (cursor !== undefined && !/^\d+\.\d+$/.test(cursor)) {
    throw new UsageError(`--cursor takes what an earlier sessions list named, and not '${cursor}'.`);
  }
  const [agent, tag] = [options.text('agent'), options.text('tag')];
  if (agent !== undefined && cwd !== undefined)
    throw new UsageError('Say either --agent or --cwd: a folder is an agent.');
  const agentId = cwd === undefined ? agent : agentIdOf(await formerFolder(io.cwd, cwd));
  const limit = options.count('limit') ?? PAGE;
  const page = await journal.list(defined({ limit, cursor, agentId, tag }));
  if (options.flag('json')) {
    const rows = page.sessions.map((session) => ({ ...session, folder: folderOf(session) ?? null }));
    out.print(`${JSON.stringify({ sessions: rows, cursor: page.cursor ?? null })}\n`);
    return;
  }
  for (const session of page.sessions) out.print(`${row(session)}\n`);
  if (page.sessions.length === 0) note('There are no sessions here.');
  if (page.cursor !== undefined)
    note(`There are more: ${nextPage(page.cursor, { limit: options.text('limit'), cwd, agent, tag })}`);
}

/** The command for the page after this one. */
function nextPage(cursor: string, flags: Readonly<Record<string, string | undefined>>): string {
  const kept = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, shellWord(value)],
  );
  return ['treadle sessions list', ...kept, '--cursor', cursor].join(' ');
}

/** A word as a shell takes it. */
const shellWord = (word: string): string =>
  /^[\w./~-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** Tab-separated, so that other programs can cut it: id, last change, folder, title or first prompt. */
function row(session: SessionSummary): string {
  const { sessionId, updatedAt, firstPrompt = '', title = firstPrompt, damage } = session;
  const folder = folderOf(session) ?? '-';
  const shown = damage === undefined ? plainLine(title, 80) : `[damaged] ${plainLine(damage, 400)}`;
  return [sessionId, minutes(updatedAt), plainLine(folder), shown].join('\t');
}

/** UTC to the minute, which sorts: `2026-03-01 09:30Z`. */
const minutes = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')}Z`;

async function show(work: Work): Promise<void> {
  const { context, journal, options } = work;
  const word = options.text('format');
  if (word !== undefined && options.flag('json')) throw new UsageError('Say either --format or --json.');
  if (word === undefined && options.flag('all')) throw new UsageError('--all goes with --format.');
  const format = word === undefined ? undefined : transcriptFormat(word);
  const id = await idOf(work);
  if (format !== undefined)
    return context.out.print(await formatTranscript(journal.read(id, 1), format, options.flag('all')));
  return (options.flag('json') ? printJson : printTranscript)(context, journal, id);
}

async function cost(work: Work): Promise<void> {
  const sessionId = await idOf(work);
  const table = await readCosts(work.journal.read(sessionId, 1));
  say(work, { sessionId, ...table }, costLines(table));
}

async function tasks(work: Work): Promise<void> {
  const { context, journal, options } = work;
  const [, task] = work.words;
  const stop = options.flag('stop');
  if (stop && task === undefined) throw new UsageError('--stop ends one task. Name it: sessions tasks ID TASK --stop');
  await sessionTasks(context, journal, await idOf(work), { task, stop, json: options.flag('json') });
}

async function rewind(work: Work): Promise<void> {
  const { context, journal, options } = work;
  const chosen = (['files', 'conversation', 'both'] as const).filter((name) => options.flag(name));
  if (chosen.length > 1) throw new UsageError('Say one of --files, --conversation and --both.');
  const what = chosen[0] ?? 'both';
  const flags = defined({ what, dryRun: options.flag('dry-run'), to: options.count('to') });
  const report = await rewindFromFlags(context.io, journal, await idOf(work), flags);
  say(work, report, rewindLines(report));
}

async function printTranscript(context: CommandContext, journal: Journal, sessionId: string): Promise<void> {
  const { io, out, note } = context;
  const style = styleFor(out.isTTY, io.env);
  const label = await toolLabels(io.cwd);
  const text = createTextOutput({ out, note, style, label, showPrompts: true });
  let open: string | null = null;
  for await (const event of journal.read(sessionId, 1)) {
    text.take(event);
    if (event.type === 'run_started') open = event.runId;
    if (event.type === 'run_ended') {
      open = null;
      if (event.status !== 'completed') text.remark(`[${event.status}: ${plainLine(event.message ?? '', 300)}]`);
    }
    const clogged = out.flowing();
    if (clogged) await clogged;
    if (out.isClosed) return;
  }
  out.endLine();
  if (open !== null) text.remark('[this run has not ended: it is being driven now, or was cut off]');
}

type RunFacts = Pick<Extract<DurableEvent, { type: 'run_ended' }>, 'runId' | 'turns' | 'usage' | 'cost'> & {
  readonly status: string;
};

async function printJson({ out }: CommandContext, journal: Journal, sessionId: string): Promise<void> {
  const state = initialState(sessionId);
  const runs: RunFacts[] = [];
  const facts = { folder: null as string | null, createdAt: 0, updatedAt: 0 };
  for await (const event of journal.read(sessionId, 1)) {
    reduce(state, event);
    facts.updatedAt = event.at;
    if (event.type === 'session_created') {
      facts.createdAt = event.at;
      facts.folder = (event.agentId === undefined ? undefined : folderOf({ agentId: event.agentId })) ?? null;
    }
    if (event.type === 'run_ended') {
      const { runId, status, turns, usage, cost } = event;
      runs.push({ runId, status, turns, usage, cost });
    }
  }
  const openRunId = state.run?.runId ?? null;
  out.print(`${JSON.stringify({ sessionId, ...facts, seq: state.seq, openRunId, runs, messages: state.view })}\n`);
}
