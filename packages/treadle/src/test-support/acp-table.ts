// What `treadle acp` does of the protocol, for docs/acp.md. The tests drive each row, and find rows that are missing.

/** What a client sends, by method. */
export const FROM_CLIENT: Readonly<Record<string, string>> = {
  initialize: 'yes: version 1',
  authenticate: 'yes: with the keys that there are; terminals run `treadle acp --login`',
  logout: 'refused: keys are in the environment',
  'session/new': 'yes, with `additionalDirectories` and MCP servers of all transports',
  'session/load': 'yes: the history first',
  'session/resume': 'yes: without the history',
  'session/list': 'yes, with the sessions of the command line',
  'session/close': 'yes: ends what is under way',
  'session/delete': 'yes',
  'session/set_mode': 'yes',
  'session/set_config_option': 'yes: `mode`, `model`, `thinking`',
  'session/prompt': 'yes: texts, images, audio, resources, slash commands',
  'session/cancel': 'yes',
  '$/cancel_request': 'yes, of `session/prompt`',
};

/** What the agent sends, by method. */
export const FROM_AGENT: Readonly<Record<string, string>> = {
  'session/update': 'yes, see below',
  'session/request_permission': 'yes: once, for the session, for the folder, no',
  'fs/read_text_file': 'where offered: files as the editor has them',
  'fs/write_text_file': 'where offered',
  'terminal/create': 'where offered, and no sandbox works here',
  'terminal/output': 'with a terminal',
  'terminal/wait_for_exit': 'with a terminal',
  'terminal/kill': 'with a terminal: cancelled, or out of time',
  'terminal/release': 'with a terminal',
  'elicitation/create': 'where forms are offered: questions of the model and of MCP servers',
  'elicitation/complete': 'never: nothing asks by address',
};

/** The kinds of `session/update`. */
export const UPDATES: Readonly<Record<string, string>> = {
  user_message_chunk: 'in a history that is loaded',
  agent_message_chunk: 'the reply, as it is streamed',
  agent_thought_chunk: 'thinking, as it is streamed',
  tool_call: 'as soon as the model begins to write the call',
  tool_call_update: 'arguments, diffs, output as it comes, terminals, the result',
  plan: 'the to-do list, and the plan',
  available_commands_update: 'slash commands: `/compact`, `/clear`, command files, skills, prompts of MCP servers',
  current_mode_update: 'when the mode changes',
  config_option_update: 'when the mode changes',
  session_info_update: 'the title',
  usage_update: 'after each reply, where the model’s window is known',
  notice: 'where offered: warnings, and why a run ended early',
  compaction_update: 'where offered',
  compaction_summary_chunk: 'never: a summary isn’t streamed',
};

/** The tables, as Prettier has them. */
export const acpTables = (): string =>
  [
    table('The client sends', FROM_CLIENT),
    table('The agent sends', FROM_AGENT),
    table('`session/update`', UPDATES),
  ].join('\n');

function table(title: string, rows: Readonly<Record<string, string>>): string {
  const cells: readonly (readonly [string, string])[] = [
    [title, 'state'],
    ...Object.entries(rows).map(([name, state]) => [`\`${name}\``, state] as const),
  ];
  const [left, right] = [0, 1].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = ([a, b]: readonly [string, string]): string => `| ${a.padEnd(left ?? 0)} | ${b.padEnd(right ?? 0)} |\n`;
  const [head, ...body] = cells;
  return `${head ? line(head) : ''}| ${'-'.repeat(left ?? 0)} | ${'-'.repeat(right ?? 0)} |\n${body.map(line).join('')}`;
}
