import {
  ATTACH_OPTIONS,
  ACP_OPTIONS,
  DOCTOR_OPTIONS,
  LOGIN_OPTIONS,
  MCP_OPTIONS,
  MCP_SERVE_OPTIONS,
  MODELS_OPTIONS,
  PLUGINS_OPTIONS,
  RUN_OPTIONS,
  SERVE_OPTIONS,
  SESSIONS_COMMANDS,
  SKILLS_OPTIONS,
  type SessionsCommand,
} from './commands.ts';
import type { OptionTable, ParsedOptions } from './options.ts';
import { version } from './version.ts';

/** What `--help` or `--version` asks for; null without either. */
export function infoText(command: string, options: Pick<ParsedOptions<'help' | 'version'>, 'flag'>): string | null {
  if (options.flag('help')) return helpText(command);
  return options.flag('version') ? `${version()}\n` : null;
}

/** The help of a command; of all of it when the word is no command. */
export function helpText(command: string | undefined): string {
  switch (command) {
    case 'sessions':
      return sessionsHelp(Object.entries(SESSIONS_COMMANDS));
    case 'doctor':
      return DOCTOR_HELP;
    case 'attach':
      return ATTACH_HELP;
    case 'login':
    case 'logout':
      return LOGIN_HELP;
    case 'models':
      return MODELS_HELP;
    case 'serve':
      return SERVE_HELP;
    case 'acp':
      return ACP_HELP;
    case 'mcp':
      return MCP_HELP;
    case 'skills':
      return SKILLS_HELP;
    case 'plugins':
      return PLUGINS_HELP;
    default:
      return RUN_HELP;
  }
}

/** Commands with the same options share a list of them. */
function sessionsHelp(commands: readonly (readonly [string, SessionsCommand])[]): string {
  const usage = commands.map(([, { usage, about }]) => `${`  treadle sessions ${usage}`.padEnd(43)}${about}`);
  const lists = [...Map.groupBy(commands, ([, { options }]) => options)].map(([options, group]) => {
    const names = new Intl.ListFormat('en-GB').format(group.map(([name]) => name));
    return `Options of ${names}${group[0]?.[1].note ?? ''}:\n${optionLines(options)}\n`;
  });
  return ['treadle sessions: the sessions that were kept', '', 'Usage:', ...usage, '', lists.join('\n')].join('\n');
}

function optionLines(table: OptionTable): string {
  const rows = Object.entries(table).map(([name, { short, value, isOptional, help }]) => {
    const given = value === undefined ? '' : isOptional === true ? ` [${value}]` : ` ${value}`;
    const flag = `${short === undefined ? '    ' : `-${short}, `}--${name}${given}`;
    return { flag, help };
  });
  const width = Math.max(...rows.map(({ flag }) => flag.length));
  return rows
    .map(
      ({ flag, help }) =>
        `  ${flag.padEnd(width)}  ${broken(help, COLUMNS - width - 4).join(`\n${' '.repeat(width + 4)}`)}`,
    )
    .join('\n');
}

/** Columns of most terminals. */
const COLUMNS = 80;

/** A text in lines of so many characters, where its words allow it. */
function broken(text: string, columns: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

const EXIT_CODES = `  0    done
  1    error: the model failed, refused, or was cut off by its output limit
  2    usage: an argument, folder, model or session that can't be used
  3    limit of turns reached
  4    permission needed: done, but a tool was refused and nobody was asked (the result is printed all the same)
  5    limit of tokens reached; 6 of time; 7 of money; 8 of tool calls; 10 of the context; 11 of a reply's size
  9    no progress: it did the same over and over
  129  interrupted by SIGHUP; 130 by SIGINT (Ctrl-C); 143 by SIGTERM
  141  the reader of the output went away`;

const RUN_HELP = `treadle: an agent that works in a folder, and keeps what it did

Usage:
  treadle [options]                        a session at the terminal
  treadle "prompt" [options]               one prompt
  command | treadle "prompt" [options]     standard input goes after the prompt
  treadle -c ["prompt"]                    go on with the latest session of this folder
  treadle -r                               choose one of its sessions
  treadle serve                            an agent over HTTP, for this folder
  treadle acp                              an agent for editors, over the Agent Client Protocol
  treadle sessions list                    sessions that were kept
  treadle sessions show ID                 what happened in one
  treadle sessions cost ID                 what one has used and cost
  treadle attach ID                        a session that another terminal drives
  treadle sessions rewind ID               its files and conversation, as they were before a message
  treadle mcp list                         the MCP servers whose tools the agent has
  treadle skills list                      the skills that the agent may read
  treadle plugins list                     the plugins that you have trusted
  treadle models                           models, their windows and prices
  treadle login                            keeps the key of a provider
  treadle doctor                           what there is here, and which providers answer

Options of run:
${optionLines(RUN_OPTIONS)}

Permissions:
  What only reads in the folder runs: list_files, search, read_file, and commands
  such as ls. write_file and edit_file run in a folder that --cwd names, or with
  --allow write; commands with --allow bash, or one of them with
  --allow 'bash(npm test)'. --deny wins over all of it. What is left open is asked
  at a terminal; without one it is refused, which is said on standard error, and to
  the model. Rules may be kept in ~/.config/treadle/settings.json, and in a folder's
  .treadle/settings.json, which acts once the folder is trusted and only tightens.

Environment:
  ANTHROPIC_API_KEY, OPENAI_API_KEY       keys; the first one found decides the default model
  ANTHROPIC_BASE_URL, OPENAI_BASE_URL     other servers that speak the same protocol
  TREADLE_MODEL                           the default model, as for --model
  XDG_CONFIG_HOME                         where settings are (default ~/.config), in treadle/
  TREADLE_HOME                            where sessions are kept (default ~/.treadle)
  NO_COLOR                                no colours

Exit codes:
${EXIT_CODES}
`;

const SERVE_HELP = `treadle serve: an agent of this folder over HTTP

Usage:
  treadle serve [options]                  prints where it listens, and a token, once

Options of serve:
${optionLines(SERVE_OPTIONS)}

Environment:
  TREADLE_TOKEN                           the token clients are to send, instead of a new one
`;

const ACP_HELP = `treadle acp: an agent for editors, over the Agent Client Protocol

Usage:
  treadle acp [options]                    what an editor starts: it talks over standard input and output

Options of acp:
${optionLines(ACP_OPTIONS)}

  The editor says which folder a session works in, and is asked for permissions. Sessions are those
  of treadle sessions list. --permission-mode bypass lets an editor choose that mode.
`;

const MCP_HELP = `treadle mcp: servers that bring tools, and the agent as such a server

Usage:
  treadle mcp add NAME -- COMMAND ARGS...  a server that is started here
  treadle mcp add NAME URL                 a server at an address
  treadle mcp list                         the servers that there are, and which may be used
  treadle mcp test [NAME...]               connects, and says what is wrong
  treadle mcp login NAME                   logs in to a server at an address, by a browser
  treadle mcp remove NAME                  forgets a server
  treadle mcp serve                        the agent of this folder as a server

Options of mcp:
${optionLines(MCP_OPTIONS)}

Options of mcp serve:
${optionLines(MCP_SERVE_OPTIONS)}

  The user's own servers are in ~/.config/treadle/mcp.json. Those of a folder's .mcp.json are used
  once the folder is trusted and each of them approved; one that has changed is asked about again.

Exit codes:
  0    done
  1    a server can't be used, or nobody logged in
  2    usage: an argument or a file that can't be used
`;

const SKILLS_HELP = `treadle skills: instructions that the agent reads when it needs them

Usage:
  treadle skills list                      the skills that there are, and the rules that they suggest
  treadle skills check [FOLDER...]         what is wrong with them

Options of skills:
${optionLines(SKILLS_OPTIONS)}

  Skills are folders with a SKILL.md in .claude/skills, .agents/skills or .treadle/skills of the home
  folder and of this one. A folder's own are used once it is trusted.

Exit codes:
  0    done
  1    check: a skill can't be used
  2    usage: an argument or a folder that can't be used
`;

const PLUGINS_HELP = `treadle plugins: skills, commands, agents, hooks and MCP servers in one folder

Usage:
  treadle plugins add FOLDER               shows what it contains; once you trust it, copies it
  treadle plugins add URL[#REFERENCE]      the same for a repository of git: a branch, a tag or a commit
  treadle plugins list                     those that you have trusted, and whether they are as they were
  treadle plugins remove NAME              forgets one, and deletes its copy

Options of plugins:
${optionLines(PLUGINS_OPTIONS)}

  A plugin is pinned by the SHA-256 of its files. One that differs is left alone until you add it again.

Exit codes:
  0    done
  1    add: you didn't trust it
  2    usage: an argument or a source that can't be used
`;

const MODELS_HELP = `treadle models: what is known about models

Usage:
  treadle models                           all of them
  treadle models WORD                      those with this in their name, such as openai or sonnet
  treadle models PROVIDER/MODEL            all that is known of one
  treadle models update [URL]              fetches a newer catalogue into ~/.config/treadle

Options of models:
${optionLines(MODELS_OPTIONS)}
`;

const ATTACH_HELP = `treadle attach: a session that another terminal drives

Usage:
  treadle attach ID                        shows what happens; what you type is said to the model
  treadle attach ID --server URL           a session of a server

Options of attach:
${optionLines(ATTACH_OPTIONS)}

  Either terminal may allow or refuse a call: the first answer counts, and both
  are told who gave it. Ctrl-D leaves, and the session goes on.
`;

const LOGIN_HELP = `treadle login: the key of a model's provider, kept for you

Usage:
  treadle login                            asks for a provider and its key
  treadle login PROVIDER                   asks for its key, which is not shown
  command | treadle login PROVIDER         the key is what the command prints
  treadle logout [PROVIDER]                forgets its key; all keys without a provider

Options of login:
${optionLines(LOGIN_OPTIONS)}

  Keys are kept in ~/.config/treadle/login.json, which only you can read. A variable such as
  ANTHROPIC_API_KEY in the environment counts before them.
`;

const DOCTOR_HELP = `treadle doctor: what there is here, and which providers answer

Usage:
  treadle doctor                           credentials, addresses, sessions, programs, proxies
  treadle doctor --model NAME              what a model can do, by one small request
  treadle doctor --conformance NAME        whether its server does what a run needs

Options of doctor:
${optionLines(DOCTOR_OPTIONS)}

Exit codes:
  0    nothing failed
  1    a probe failed, or sessions can't be kept
  2    usage: an argument or a model that can't be used
`;
