import type { OptionTable } from './options.ts';

const COMMON = {
  help: { short: 'h', help: 'Say what there is, and exit.' },
  version: { short: 'v', help: 'Say which version this is, and exit.' },
} as const satisfies OptionTable;

/** The flags of `treadle run`. */
export const RUN_OPTIONS = {
  prompt: { short: 'p', value: 'TEXT', help: 'The prompt, as an option instead of an argument.' },
  model: { short: 'm', value: 'NAME', help: 'provider/model, such as anthropic/claude-sonnet-5-5 or demo.' },
  thinking: { value: 'LEVEL', help: 'How much the model thinks: off, minimal, low, medium, high, xhigh or max.' },
  image: { value: 'FILE', repeatable: true, help: 'Send this image (or PDF) too. @FILE in the prompt does the same.' },
  cwd: { value: 'FOLDER', help: 'Work in this folder, and let the tools change files in it.' },
  'add-dir': { value: 'FOLDER', repeatable: true, help: 'Let the tools work in this folder too.' },
  'output-format': { value: 'FORMAT', help: 'text (default), json (one object at the end) or events (JSON lines).' },
  'max-turns': { value: 'N', help: 'At most so many calls of the model (default 50).' },
  'max-tool-turns': { value: 'N', help: 'At most so many turns in which it calls tools.' },
  'max-tool-calls': { value: 'N', help: 'At most so many calls of tools.' },
  'max-total-tokens': { value: 'N', help: 'At most so many tokens, in and out (default 1,000,000).' },
  'max-time': { value: 'SECONDS', help: 'At most so long (default 600).' },
  branches: { value: 'N', help: 'Do it N times side by side, in copies of the folder, and take the best.' },
  judge: {
    value: 'WHO',
    help: 'Who chooses: model (default), pairs, vote, first, fewest-tokens, most-tokens, or a model.',
  },
  copies: { value: 'KIND', help: 'What branches work in: folder (default), or worktree, without what Git ignores.' },
  background: { help: 'Let commands and agents run in the background; the run waits for them at its end.' },
  'max-cost': { value: 'DOLLARS', help: 'At most so much money; a model of unknown price is then not called.' },
  title: { help: 'Have the model name the session once it has answered: one more short call.' },
  telemetry: { help: 'Trace the run with what you have set up with @opentelemetry/api.' },
  continue: { short: 'c', help: "Go on with this folder's latest session." },
  resume: { short: 'r', value: 'ID', isOptional: true, help: 'Go on with this session; without ID choose one.' },
  tools: { value: 'LIST', help: 'Only these tools, or none: --tools read_file,search.' },
  web: { help: "Let it fetch web pages; each host asks, unless --allow 'web_fetch(domain:example.com)'." },
  system: { value: 'TEXT', help: 'Use this system prompt instead of the default one.' },
  'no-instructions': { help: "Leave the project's instruction files (AGENTS.md, CLAUDE.md) unread." },
  allow: {
    value: 'LIST',
    repeatable: true,
    help: "Let these act: write (write_file and edit_file), a tool, 'bash(git status:*)', or all.",
  },
  ask: { value: 'LIST', repeatable: true, help: 'Ask for these, whatever allows them.' },
  deny: { value: 'LIST', repeatable: true, help: "Never these: a tool, or 'read_file(secrets/**)'." },
  'permission-mode': { value: 'MODE', help: 'default, acceptEdits, plan, dontAsk or bypass.' },
  'mcp-config': { value: 'FILE', repeatable: true, help: 'Use the MCP servers of this file too.' },
  'no-mcp': { help: 'Use no MCP servers.' },
  skills: {
    value: 'NAME',
    repeatable: true,
    help: 'Use the skills of this npm package, or of this folder (./FOLDER) too.',
  },
  'no-skills': { help: 'Use no skills.' },
  'no-plugins': { help: 'Use no plugins.' },
  trust: { help: 'Trust this folder: let its .treadle/settings.json act, now and later.' },
  plain: { help: 'Print lines only: for screen readers, and terminals without a cursor.' },
  stdin: { help: 'Wait for standard input to its end, however long it takes to begin.' },
  'no-stdin': { help: 'Leave standard input alone.' },
  'no-save': { help: 'Keep the session in memory only.' },
  ...COMMON,
} as const satisfies OptionTable;

const JSON_FLAG = { json: { help: 'One JSON object instead of text.' }, ...COMMON } as const;

/** One of the commands of `treadle sessions`. */
export interface SessionsCommand {
  /** How it is called. */
  readonly usage: string;
  readonly about: string;
  /** How many words it takes at least, and at most. */
  readonly words: readonly [number, number];
  readonly options: OptionTable;
  /** More about its options, for the help. */
  readonly note?: string;
}

/** The flags of `treadle sessions replay`, besides those of run; rerun has some of them. */
export const REDO_OPTIONS = {
  run: { value: 'RUN', help: 'Which run: rerun takes the latest, replay begins with the first.' },
  turn: { value: 'N', help: 'replay: the turn of that run to begin with, from 0.' },
  execute: { help: 'replay: execute calls that no result was recorded for (default: stop).' },
  keep: { help: 'replay: keep the session in which it was replayed.' },
  json: { help: 'One JSON object instead of text.' },
} as const satisfies OptionTable;

const REDO = {
  words: [1, 2],
  options: REDO_OPTIONS,
  note: ', with those of run (replay asks nobody unless --model names a model)',
} as const;

export const SESSIONS_COMMANDS = {
  list: {
    usage: 'list [options]',
    about: 'the latest first',
    words: [0, 0],
    options: {
      limit: { value: 'N', help: 'At most so many (default 20).' },
      cursor: { value: 'CURSOR', help: 'The page after an earlier one, which named this cursor.' },
      cwd: { value: 'FOLDER', help: 'Only sessions of this folder.' },
      agent: { value: 'ID', help: 'Only sessions of this agent.' },
      tag: { value: 'TAG', help: 'Only sessions with this tag.' },
      ...JSON_FLAG,
    },
  },
  show: {
    usage: 'show ID [options]',
    about: 'the transcript of one',
    words: [1, 1],
    options: {
      format: { value: 'FORMAT', help: 'The transcript as text, markdown or json, to keep or to pass on.' },
      all: { help: 'With --format: also what the runtime told the model, and its reasoning.' },
      ...JSON_FLAG,
    },
  },
  cost: {
    usage: 'cost ID [options]',
    about: 'what its model calls have used and cost',
    words: [1, 1],
    options: JSON_FLAG,
  },
  tasks: {
    usage: 'tasks ID [TASK]',
    about: 'what ran in the background; what a task came to; --stop ends it',
    words: [1, 2],
    options: { stop: { help: 'End the task that is named.' }, ...JSON_FLAG },
  },
  rewind: {
    usage: 'rewind ID [options]',
    about: 'files and conversation as they were before one of your messages',
    words: [1, 1],
    options: {
      to: { value: 'N', help: 'To just before your message number N (default: the last one).' },
      files: { help: 'Only the files that its tools have changed.' },
      conversation: { help: 'Only the conversation: in a new session, with what was before.' },
      both: { help: 'Files and conversation (the default).' },
      'dry-run': { help: 'Change nothing, and say what would be.' },
      ...JSON_FLAG,
    },
  },
  search: {
    usage: 'search WORDS [options]',
    about: 'those in which all the words occur',
    words: [1, 100],
    options: {
      limit: { value: 'N', help: 'At most so many (default 20).' },
      agent: { value: 'ID', help: 'Only sessions of this agent.' },
      tag: { value: 'TAG', help: 'Only sessions with this tag.' },
      ...JSON_FLAG,
    },
  },
  tree: {
    usage: 'tree ID',
    about: 'it with its forks, branches and sub-agents, and what all of it cost',
    words: [1, 1],
    options: JSON_FLAG,
  },
  fork: {
    usage: 'fork ID [options]',
    about: 'another one, with its events up to one of them',
    words: [1, 1],
    options: {
      at: { value: 'SEQ', help: 'The last event that is shared (default: the last there is).' },
      title: { value: 'TITLE', help: 'What the fork is called.' },
      tag: { value: 'TAG', repeatable: true, help: 'A tag of the fork.' },
      ...JSON_FLAG,
    },
  },
  rerun: { usage: 'rerun ID ["prompt"]', about: 'a run again, or with another prompt, in a fork', ...REDO },
  replay: {
    usage: 'replay ID [options]',
    about: 'its runs again, with the recorded results; says what differs',
    ...REDO,
  },
  export: {
    usage: 'export ID [options]',
    about: 'its log, or its transcript',
    words: [1, 1],
    options: {
      format: { value: 'FORMAT', help: 'events (a line of JSON each, the default), text, markdown or json.' },
      all: { help: 'With text, markdown or json: also what the runtime told the model, and its reasoning.' },
      ...JSON_FLAG,
    },
  },
  rename: { usage: 'rename ID TITLE', about: 'what it is called', words: [2, 2], options: JSON_FLAG },
  tag: {
    usage: 'tag ID [TAG...]',
    about: 'tags to find it by',
    words: [1, 33],
    options: { remove: { value: 'TAG', repeatable: true, help: 'A tag to take away.' }, ...JSON_FLAG },
  },
  delete: { usage: 'delete ID...', about: 'gone; its forks stay', words: [1, 1000], options: JSON_FLAG },
} as const satisfies Readonly<Record<string, SessionsCommand>>;

/** The flags of `treadle doctor`. */
export const DOCTOR_OPTIONS = {
  model: {
    short: 'm',
    value: 'NAME',
    repeatable: true,
    help: 'Check key, window, streaming, tools and caching of this provider/model with one small request.',
  },
  database: { value: 'URL', help: 'Ask this Postgres database, and say how it notices that a server died.' },
  conformance: { value: 'NAME', repeatable: true, help: 'Try what a run needs of the server of this provider/model.' },
  timeout: { value: 'SECONDS', help: 'At most so long for each request (default 60).' },
  json: { help: 'One JSON object instead of text.' },
  ...COMMON,
} as const satisfies OptionTable;

/** The flags of `treadle models`. */
export const MODELS_OPTIONS = {
  yes: { help: 'update: take prices that change more than fivefold, without a question.' },
  json: { help: 'The rows as a catalogue file, instead of text.' },
  ...COMMON,
} as const satisfies OptionTable;

/** The flags of `treadle serve`. */
export const SERVE_OPTIONS = {
  host: { value: 'ADDRESS', help: 'Listen there (default 127.0.0.1). Another one needs TREADLE_TOKEN.' },
  port: { value: 'N', help: 'Default: a free one.' },
  'allowed-host': { value: 'NAME', repeatable: true, help: 'Serve requests for this host name too.' },
  origin: {
    value: 'ORIGIN',
    repeatable: true,
    help: 'Let pages of this origin use it, such as http://localhost:3000.',
  },
  'max-requests': { value: 'N', help: 'At most so many requests a second with one token (default 500).' },
  'offer-tools': { help: 'Let clients offer tools that they run themselves, as pages of AG-UI do.' },
  'base-path': { value: 'PATH', help: 'Serve everything below this path, such as /api/agents.' },
  model: {
    short: 'm',
    value: 'NAME',
    repeatable: true,
    help: 'provider/model, such as anthropic/claude-sonnet-5-5 or demo. Requests may name the second and later ones.',
  },
  cwd: { value: 'FOLDER', help: 'The folder the agent works in (default: this one).' },
  title: { help: 'Have the model name each session once it has answered: one more short call.' },
  'mcp-config': { value: 'FILE', repeatable: true, help: 'Use the MCP servers of this file too.' },
  'no-mcp': { help: 'Use no MCP servers.' },
  skills: {
    value: 'NAME',
    repeatable: true,
    help: 'Use the skills of this npm package, or of this folder (./FOLDER) too.',
  },
  'no-skills': { help: 'Use no skills.' },
  database: {
    value: 'URL',
    help: 'Keep everything in this Postgres database, which other servers may share (default: files of this machine).',
  },
  blobs: { value: 'FOLDER', help: 'Keep images and files in this folder.' },
  'shared-folder': { help: 'With --database and --blobs: all servers see that folder.' },
  'max-cost': { value: 'DOLLARS', help: 'At most so much money for all sessions together.' },
  memory: { help: 'Remember from session to session what was asked and answered.' },
  log: { help: 'Write what happens to standard error, a JSON object a line.' },
  telemetry: { help: 'Trace sessions with what you have set up with @opentelemetry/api.' },
  metrics: { help: 'Show tokens, durations and costs to Prometheus at /metrics, with the token.' },
  ...COMMON,
} as const satisfies OptionTable;

/** The flags of `treadle mcp`. */
export const MCP_OPTIONS = {
  project: { help: "add, remove: the folder's own .mcp.json, for everyone who works in it." },
  env: { value: 'NAME=VALUE', repeatable: true, help: 'add: a variable for the server.' },
  header: { value: 'NAME:VALUE', repeatable: true, help: 'add: a header of every request.' },
  transport: { value: 'KIND', help: 'add: http (the default) or sse.' },
  'mcp-config': { value: 'FILE', repeatable: true, help: 'Read this file of servers too.' },
  cwd: { value: 'FOLDER', help: 'The folder whose servers they are (default: this one).' },
  trust: { help: 'test: trust this folder, and approve its servers as they are now.' },
  json: { help: 'list: one JSON object instead of text.' },
  ...COMMON,
} as const satisfies OptionTable;

/** The flags of `treadle skills`. */
export const SKILLS_OPTIONS = {
  skills: { value: 'NAME', repeatable: true, help: 'Look into this npm package, or this folder (./FOLDER) too.' },
  cwd: { value: 'FOLDER', help: 'The folder whose skills they are (default: this one).' },
  json: { help: 'One JSON object instead of text.' },
  ...COMMON,
} as const satisfies OptionTable;

export const SKILLS_COMMANDS = ['list', 'check'] as const;

/** The flags of `treadle plugins`. */
export const PLUGINS_OPTIONS = {
  path: { value: 'FOLDER', help: 'add: the plugin is in this folder of the source.' },
  trust: { help: 'add: trust it without a question.' },
  json: { help: 'list: one JSON object instead of text.' },
  ...COMMON,
} as const satisfies OptionTable;

export const PLUGINS_COMMANDS = ['add', 'list', 'remove'] as const;

/** The flags of `treadle mcp serve`. */
export const MCP_SERVE_OPTIONS = {
  http: { help: 'Over Streamable HTTP, instead of standard input and output. Prints the address, and a token once.' },
  host: { value: 'ADDRESS', help: 'With --http (default 127.0.0.1). Another one needs TREADLE_TOKEN.' },
  port: { value: 'N', help: 'With --http (default: a free one).' },
  model: { short: 'm', value: 'NAME', help: 'provider/model, such as anthropic/claude-sonnet-5-5 or demo.' },
  cwd: { value: 'FOLDER', help: 'The folder the agent works in (default: this one).' },
  ...COMMON,
} as const satisfies OptionTable;

/** The flags of `treadle acp`: those of run that are about no single prompt. */
export const ACP_OPTIONS = {
  model: RUN_OPTIONS.model,
  thinking: RUN_OPTIONS.thinking,
  'permission-mode': RUN_OPTIONS['permission-mode'],
  allow: RUN_OPTIONS.allow,
  ask: RUN_OPTIONS.ask,
  deny: RUN_OPTIONS.deny,
  web: RUN_OPTIONS.web,
  'max-turns': RUN_OPTIONS['max-turns'],
  'max-cost': RUN_OPTIONS['max-cost'],
  title: RUN_OPTIONS.title,
  'no-instructions': RUN_OPTIONS['no-instructions'],
  'mcp-config': RUN_OPTIONS['mcp-config'],
  'no-mcp': RUN_OPTIONS['no-mcp'],
  skills: RUN_OPTIONS.skills,
  'no-skills': RUN_OPTIONS['no-skills'],
  'no-plugins': RUN_OPTIONS['no-plugins'],
  login: { help: 'Ask for a key at the terminal, and end: editors start it so.' },
  ...COMMON,
} as const satisfies OptionTable;

export const MCP_COMMANDS = ['add', 'list', 'remove', 'test', 'login', 'serve'] as const;

/** The flags of `treadle attach`. */
export const ATTACH_OPTIONS = {
  server: { value: 'URL', help: 'A session of this server; TREADLE_TOKEN has its token.' },
  ...COMMON,
} as const satisfies OptionTable;

/** The flags of `treadle login`. */
export const LOGIN_OPTIONS = {
  env: { value: 'NAME', help: 'Keep no key, but the name of the environment variable that has it.' },
  ...COMMON,
} as const satisfies OptionTable;

/** The commands there are. A bare prompt is `run`'s. */
export const COMMANDS = [
  'run',
  'serve',
  'acp',
  'sessions',
  'attach',
  'mcp',
  'skills',
  'plugins',
  'models',
  'login',
  'logout',
  'doctor',
  'help',
] as const;

/** How the arguments are to be read. */
export interface Command {
  readonly name: (typeof COMMANDS)[number];
  readonly args: readonly string[];
}

/** A command word is one lowercase word; everything else is a prompt. */
const COMMAND_WORD = /^[a-z][a-z-]*$/;

/**
 * The command that comes first, or a bare prompt, which is `run`'s.
 *
 * @returns the unknown word when it can only be meant as a command
 */
export function findCommand(argv: readonly string[]): Command | { readonly name: 'unknown'; readonly word: string } {
  const [first, ...rest] = argv;
  const name = COMMANDS.find((known) => known === first);
  if (name !== undefined) return { name, args: rest };
  if (first !== undefined && COMMAND_WORD.test(first)) return { name: 'unknown', word: first };
  return { name: 'run', args: argv };
}
