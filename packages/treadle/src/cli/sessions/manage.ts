import { sessionsOf, type Journal } from '@treadle/core';
import { readFamily, type Sessions } from '@treadle/core/history';

import {
  DELETE_OPTIONS,
  EXPORT_OPTIONS,
  FORK_OPTIONS,
  RENAME_OPTIONS,
  SEARCH_OPTIONS,
  TAG_OPTIONS,
  TREE_OPTIONS,
} from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { sessionOf } from './folder-sessions.ts';
import { helpText } from '../help.ts';
import { parseOptions, type OptionTable, type ParsedOptions } from '../options.ts';
import { plainLine } from '../asking/plain-text.ts';
import { formatTranscript, transcriptFormat } from './transcript.ts';
import { familyJson, familyLines } from './tree.ts';
import { UsageError } from '../usage-error.ts';
import { version } from '../version.ts';

/** What a command works on besides its options. */
interface Work {
  readonly context: CommandContext;
  readonly journal: Journal;
  readonly sessions: Sessions;
  readonly words: readonly string[];
}

type Options = ParsedOptions<string>;

interface ManageCommand {
  readonly options: OptionTable;
  /** How it is called, and how many words it takes at least and at most. */
  readonly usage: string;
  readonly words: readonly [number, number];
  run(work: Work, options: Options): Promise<void>;
}

/** The commands that change or export sessions, and need no agent. */
export const MANAGE_COMMANDS: Readonly<Record<string, ManageCommand>> = {
  fork: { options: FORK_OPTIONS, usage: 'fork ID', words: [1, 1], run: fork },
  rename: { options: RENAME_OPTIONS, usage: 'rename ID TITLE', words: [2, 2], run: rename },
  tag: { options: TAG_OPTIONS, usage: 'tag ID [TAG…]', words: [1, 33], run: tag },
  delete: { options: DELETE_OPTIONS, usage: 'delete ID…', words: [1, 1000], run: remove },
  tree: { options: TREE_OPTIONS, usage: 'tree ID', words: [1, 1], run: tree },
  search: { options: SEARCH_OPTIONS, usage: 'search WORDS', words: [1, 100], run: search },
  export: { options: EXPORT_OPTIONS, usage: 'export ID', words: [1, 1], run: exportSession },
};

export async function manageCommand(
  context: CommandContext,
  command: ManageCommand,
  args: readonly string[],
): Promise<number> {
  const options: Options = parseOptions(args, command.options);
  if (options.flag('help') || options.flag('version')) {
    context.out.print(options.flag('help') ? helpText('sessions') : `${version()}\n`);
    return EXIT.done;
  }
  const words = options.positionals;
  const [least, most] = command.words;
  if (words.length < least || words.length > most) throw new UsageError(`It is treadle sessions ${command.usage}.`);
  const journal = await context.parts.journal(context.io);
  try {
    const sessions = sessionsOf(journal);
    await context.interruptions.unless(command.run({ context, journal, sessions, words }, options));
    return context.out.isClosed ? EXIT.closedPipe : EXIT.done;
  } finally {
    await journal.close();
  }
}

/** One object for programs, or a line for people. */
function say({ context: { out } }: Work, options: Options, facts: object, line: string): void {
  out.print(options.flag('json') ? `${JSON.stringify(facts)}\n` : `${line}\n`);
}

const idOf = ({ journal, words: [id = ''] }: Work): Promise<string> => sessionOf(journal, id);

async function fork(work: Work, options: Options): Promise<void> {
  const parent = await idOf(work);
  const [at, title, tags] = [options.count('at'), options.text('title'), options.list('tag')];
  const sessionId = await work.sessions.fork(parent, {
    ...(at === undefined ? {} : { at }),
    ...(title === undefined ? {} : { title }),
    ...(tags === undefined ? {} : { tags }),
  });
  say(work, options, { sessionId, parent }, sessionId);
}

async function rename(work: Work, options: Options): Promise<void> {
  const sessionId = await idOf(work);
  const title = work.words[1] ?? '';
  await work.sessions.rename(sessionId, title);
  say(work, options, { sessionId, title }, `${sessionId}\t${plainLine(title)}`);
}

async function tag(work: Work, options: Options): Promise<void> {
  const [added, removed] = [work.words.slice(1), options.list('remove') ?? []];
  if (added.length + removed.length === 0) throw new UsageError('Name a tag to add, or one to --remove.');
  const sessionId = await idOf(work);
  await work.sessions.tag(sessionId, added, removed);
  const line = [...added.map((name) => `+${name}`), ...removed.map((name) => `-${name}`)].map((name) =>
    plainLine(name),
  );
  say(work, options, { sessionId, added, removed }, `${sessionId}\t${line.join(' ')}`);
}

async function remove(work: Work, options: Options): Promise<void> {
  const deleted: string[] = [];
  // All of them are known before the first one is gone.
  for (const word of work.words) deleted.push(await sessionOf(work.journal, word));
  for (const sessionId of deleted) await work.sessions.remove(sessionId);
  say(work, options, { deleted }, deleted.join('\n'));
}

async function tree(work: Work, options: Options): Promise<void> {
  const family = await readFamily(work.journal, await idOf(work));
  say(work, options, familyJson(family), familyLines(family));
}

async function search(work: Work, options: Options): Promise<void> {
  const { sessions, context } = work;
  const most = options.count('limit') ?? 20;
  const [agentId, tagged] = [options.text('agent'), options.text('tag')];
  const filter = { ...(agentId === undefined ? {} : { agentId }), ...(tagged === undefined ? {} : { tag: tagged }) };
  const hits = [];
  for await (const { session, where, excerpt, seq } of sessions.search(work.words.join(' '), filter)) {
    const hit = { sessionId: session.sessionId, where, excerpt, seq: seq ?? null };
    hits.push(hit);
    if (!options.flag('json')) context.out.print(`${[hit.sessionId, where, plainLine(excerpt)].join('\t')}\n`);
    if (hits.length >= most || context.out.isClosed) break;
  }
  if (options.flag('json')) context.out.print(`${JSON.stringify({ hits })}\n`);
  else if (hits.length === 0) context.note('No session has these words.');
}

async function exportSession(work: Work, options: Options): Promise<void> {
  const { journal, context } = work;
  const { out } = context;
  const word = options.text('format');
  if (word !== undefined && options.flag('json')) throw new UsageError('Say either --format or --json.');
  const format = word === undefined || word === 'events' ? null : transcriptFormat(word);
  const sessionId = await idOf(work);
  if (format !== null) {
    out.print(await formatTranscript(journal.read(sessionId, 1), format, options.flag('all')));
    return;
  }
  const isOne = options.flag('json');
  let isFirst = true;
  for await (const event of journal.read(sessionId, 1)) {
    const before = isOne ? (isFirst ? `{"sessionId":${JSON.stringify(sessionId)},"events":[` : ',') : '';
    out.print(`${before}${JSON.stringify(event)}${isOne ? '' : '\n'}`);
    isFirst = false;
    const clogged = out.flowing();
    if (clogged) await clogged;
    if (out.isClosed) return;
  }
  if (isOne) out.print(']}\n');
}
