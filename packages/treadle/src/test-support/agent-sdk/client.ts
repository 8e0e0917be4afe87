// A client of the stream-json control protocol, written from its description alone: it shares no type and no parser with
// the executable that it drives. Its options have the names that applications use.

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';

export type Json = Readonly<Record<string, unknown>>;

/** What a permission callback answers. */
type Permission =
  | { readonly behavior: 'allow'; readonly updatedInput?: Json; readonly updatedPermissions?: readonly Json[] }
  | { readonly behavior: 'deny'; readonly message: string; readonly interrupt?: boolean };

type CanUseTool = (
  toolName: string,
  input: Json,
  options: { readonly signal: AbortSignal; readonly suggestions?: readonly Json[]; readonly toolUseID: string },
) => Promise<Permission | null>;

interface HookMatcher {
  readonly matcher?: string;
  readonly hooks: readonly ((input: Json, toolUseId: string | undefined) => Promise<Json>)[];
  /** Seconds. */
  readonly timeout?: number;
}

/** A server in the client's process. */
export interface OwnServer {
  readonly type: 'sdk';
  readonly name: string;
  /** Answers one message of JSON-RPC; null for a notification. */
  readonly answer: (message: Json) => Promise<Json | null>;
}

export interface Options {
  readonly pathToClaudeCodeExecutable: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly model?: string;
  readonly fallbackModel?: string;
  readonly permissionMode?: string;
  readonly allowDangerouslySkipPermissions?: boolean;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  readonly tools?: readonly string[];
  readonly maxTurns?: number;
  readonly maxBudgetUsd?: number;
  readonly maxThinkingTokens?: number;
  readonly systemPrompt?: string | { readonly type: 'preset'; readonly append?: string };
  readonly resume?: string;
  readonly resumeSessionAt?: string;
  readonly continue?: boolean;
  readonly forkSession?: boolean;
  readonly sessionId?: string;
  readonly persistSession?: boolean;
  readonly includePartialMessages?: boolean;
  readonly includeHookEvents?: boolean;
  readonly settingSources?: readonly string[];
  readonly settings?: string;
  readonly additionalDirectories?: readonly string[];
  readonly plugins?: readonly { readonly path: string }[];
  readonly skills?: readonly string[];
  readonly outputFormat?: { readonly type: 'json_schema'; readonly schema: Json };
  readonly agents?: Json;
  readonly agent?: string;
  readonly title?: string;
  readonly mcpServers?: Readonly<Record<string, Json | OwnServer>>;
  /** Servers in this process that are set later, by mcp_set_servers. */
  readonly ownServers?: Readonly<Record<string, OwnServer>>;
  readonly hooks?: Readonly<Record<string, readonly HookMatcher[]>>;
  readonly canUseTool?: CanUseTool;
  readonly onElicitation?: (request: Json) => Promise<Json>;
  readonly extraArgs?: Readonly<Record<string, string | null>>;
  readonly stderr?: (text: string) => void;
}

/** What tests want besides. */
export interface Testing {
  /** How flags are written: `--flag=value` as one client does, or `--flag value` as the other. */
  readonly flags?: 'joined' | 'apart';
  /** Takes every line of both directions. */
  readonly onLine?: (direction: 'sent' | 'received', line: Json) => void;
}

export interface UserMessage {
  readonly type: 'user';
  readonly session_id: string;
  readonly message: { readonly role: 'user'; readonly content: unknown };
  readonly parent_tool_use_id: null;
  readonly uuid?: string;
}

export const userMessage = (content: unknown, uuid?: string): UserMessage => ({
  type: 'user',
  session_id: '',
  message: { role: 'user', content },
  parent_tool_use_id: null,
  ...(uuid === undefined ? {} : { uuid }),
});

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function flagsOf(options: Options, style: 'joined' | 'apart'): string[] {
  const flags: string[] = ['--output-format', 'stream-json', '--verbose', '--input-format', 'stream-json'];
  const value = (name: string, given: string | number | undefined): void => {
    if (given === undefined) return;
    if (style === 'joined') flags.push(`--${name}=${given}`);
    else flags.push(`--${name}`, String(given));
  };
  const flag = (name: string, given: boolean | undefined): void => {
    if (given === true) flags.push(`--${name}`);
  };
  value('max-thinking-tokens', options.maxThinkingTokens);
  value('max-turns', options.maxTurns);
  value('max-budget-usd', options.maxBudgetUsd);
  value('model', options.model);
  value('fallback-model', options.fallbackModel);
  value('agent', options.agent);
  value('json-schema', options.outputFormat && JSON.stringify(options.outputFormat.schema));
  if (options.canUseTool) value('permission-prompt-tool', 'stdio');
  flag('continue', options.continue);
  value('resume', options.resume);
  flag('fork-session', options.forkSession);
  value('resume-session-at', options.resumeSessionAt);
  value('session-id', options.sessionId);
  flag('no-session-persistence', options.persistSession === false);
  if (options.allowedTools?.length) value('allowedTools', options.allowedTools.join(','));
  if (options.disallowedTools?.length) value('disallowedTools', options.disallowedTools.join(','));
  if (options.tools) flags.push(`--tools=${options.tools.join(',')}`);
  const servers = Object.entries(options.mcpServers ?? {}).filter(([, server]) => !isOwn(server));
  if (servers.length > 0) flags.push('--mcp-config', JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
  if (options.settingSources) flags.push(`--setting-sources=${options.settingSources.join(',')}`);
  value('permission-mode', options.permissionMode);
  flag('allow-dangerously-skip-permissions', options.allowDangerouslySkipPermissions);
  flag('include-partial-messages', options.includePartialMessages);
  flag('include-hook-events', options.includeHookEvents);
  for (const folder of options.additionalDirectories ?? []) value('add-dir', folder);
  for (const { path } of options.plugins ?? []) value('plugin-dir', path);
  if (options.settings !== undefined) flags.push('--settings', options.settings);
  for (const [name, given] of Object.entries(options.extraArgs ?? {}))
    flags.push(
      ...(given === null ? [`--${name}`] : given.startsWith('-') ? [`--${name}=${given}`] : [`--${name}`, given]),
    );
  return flags;
}

const isOwn = (server: Json | OwnServer): server is OwnServer => 'answer' in server;

/** A session that is being driven: its messages, and the requests that may be made meanwhile. */
export interface Query extends AsyncIterable<Json> {
  interrupt(): Promise<Json>;
  setPermissionMode(mode: string): Promise<Json>;
  setModel(model?: string): Promise<Json>;
  setMaxThinkingTokens(tokens: number | null): Promise<Json>;
  mcpServerStatus(): Promise<Json>;
  rewindFiles(userMessageId: string, options?: { readonly dryRun?: boolean }): Promise<Json>;
  /** Any request. Rejects with the text of an error. */
  request(subtype: string, fields?: Json): Promise<Json>;
  /** What `initialize` was answered with. */
  readonly initialized: Promise<Json>;
  readonly child: ChildProcessWithoutNullStreams;
  /** Writes text as it is. */
  write(text: string): void;
  /** How the process ended, and all of its standard error. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null; readonly stderr: string }>;
  /** What was on standard output and is no line of JSON. */
  readonly strange: readonly string[];
}

interface Waiting {
  readonly resolve: (response: Json) => void;
  readonly reject: (error: Error) => void;
}

/** Starts the executable and drives it. A prompt that is a text is one turn, after which standard input is closed. */
export function query(
  { prompt, options }: { readonly prompt: string | AsyncIterable<UserMessage>; readonly options: Options },
  { flags = 'joined', onLine = () => {} }: Testing = {},
): Query {
  const path = options.pathToClaudeCodeExecutable;
  const args = flagsOf(options, flags);
  const command = path.endsWith('.js') ? [process.execPath, path] : [path];
  const [file = '', ...before] = command;
  const child = spawn(file, [...before, ...args], {
    cwd: options.cwd,
    env: { ...options.env, CLAUDE_CODE_ENTRYPOINT: 'sdk-ts', CLAUDE_AGENT_SDK_VERSION: '0.3.329' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const waiting = new Map<string, Waiting>();
  const callbacks = new Map<string, HookMatcher['hooks'][number]>();
  const open = new Map<string, AbortController>();
  const strange: string[] = [];
  const messages: Json[] = [];
  let wake: () => void = () => {};
  let isOver = false;
  let count = 0;
  let stderr = '';

  const write = (text: string): void => {
    if (child.stdin.writable) child.stdin.write(text);
  };
  // A process that is killed leaves a broken pipe.
  child.stdin.on('error', () => {});
  const send = (line: Json): void => {
    onLine('sent', line);
    write(`${JSON.stringify(line)}\n`);
  };
  const request = (subtype: string, fields: Json = {}): Promise<Json> => {
    count += 1;
    const id = `req_${count}`;
    const answered = new Promise<Json>((resolve, reject) => waiting.set(id, { resolve, reject }));
    // Whoever waits for it hears of it.
    answered.catch(() => {});
    send({ type: 'control_request', request_id: id, request: { subtype, ...fields } });
    return answered;
  };

  async function answer(id: string, asked: Json): Promise<void> {
    const controller = new AbortController();
    open.set(id, controller);
    try {
      const response = await respond(asked, controller.signal);
      if (response === null || controller.signal.aborted) return;
      send({ type: 'control_response', response: { subtype: 'success', request_id: id, response } });
    } catch (error) {
      send({ type: 'control_response', response: { subtype: 'error', request_id: id, error: String(error) } });
    } finally {
      open.delete(id);
    }
  }

  async function respond(asked: Json, signal: AbortSignal): Promise<Json | null> {
    switch (asked['subtype']) {
      case 'can_use_tool': {
        if (!options.canUseTool) throw new Error('canUseTool callback is not provided.');
        const toolUseID = String(asked['tool_use_id']);
        const suggestions = asked['permission_suggestions'] as readonly Json[];
        const said = await options.canUseTool(String(asked['tool_name']), asked['input'] as Json, {
          signal,
          suggestions,
          toolUseID,
        });
        return said && { ...said, toolUseID };
      }
      case 'hook_callback': {
        const callback = callbacks.get(String(asked['callback_id']));
        if (!callback) throw new Error('No hook has this id.');
        return callback(asked['input'] as Json, asked['tool_use_id'] as string | undefined);
      }
      case 'mcp_message': {
        const name = String(asked['server_name']);
        const server = options.mcpServers?.[name] ?? options.ownServers?.[name];
        if (!server || !isOwn(server)) throw new Error('There is no such server.');
        const reply = await server.answer(asked['message'] as Json);
        return { mcp_response: reply ?? { jsonrpc: '2.0', result: {}, id: 0 } };
      }
      case 'elicitation':
        return (await options.onElicitation?.(asked)) ?? { action: 'decline' };
      default:
        throw Object.assign(new Error(`Unsupported control request subtype: ${String(asked['subtype'])}`));
    }
  }

  function take(line: Json): void {
    onLine('received', line);
    if (line['type'] === 'control_response') {
      const response = line['response'] as Json;
      const one = waiting.get(String(response['request_id']));
      waiting.delete(String(response['request_id']));
      if (response['subtype'] === 'success') one?.resolve((response['response'] ?? {}) as Json);
      else one?.reject(new Error(String(response['error'])));
    } else if (line['type'] === 'control_request') void answer(String(line['request_id']), line['request'] as Json);
    else if (line['type'] === 'control_cancel_request') open.get(String(line['request_id']))?.abort();
    else {
      messages.push(line);
      if (line['type'] === 'result' && typeof prompt === 'string') child.stdin.end();
      wake();
    }
  }

  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      let value: unknown;
      try {
        value = JSON.parse(line);
      } catch {
        value = null;
      }
      if (isObject(value)) take(value);
      else strange.push(line);
    }
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    options.stderr?.(text);
  });
  const ended = new Promise<Awaited<Query['ended']>>((resolve) => {
    child.once('close', (code, signal) => {
      isOver = true;
      if (rest !== '') strange.push(rest);
      for (const { reject } of waiting.values()) reject(new Error(`It ended (${code ?? signal}): ${stderr}`));
      wake();
      resolve({ code, signal, stderr });
    });
  });

  const hooks = Object.entries(options.hooks ?? {}).map(([event, matchers]) => [
    event,
    matchers.map(({ matcher, hooks: functions, timeout }) => ({
      ...(matcher === undefined ? {} : { matcher }),
      hookCallbackIds: functions.map((callback) => {
        const id = `hook_${callbacks.size}`;
        callbacks.set(id, callback);
        return id;
      }),
      ...(timeout === undefined ? {} : { timeout }),
    })),
  ]);
  const { systemPrompt } = options;
  const own = Object.entries(options.mcpServers ?? {}).flatMap(([name, server]) => (isOwn(server) ? [name] : []));
  const initialized = request('initialize', {
    ...(hooks.length > 0 ? { hooks: Object.fromEntries(hooks) as Json } : {}),
    ...(own.length > 0 ? { sdkMcpServers: own } : {}),
    ...(options.outputFormat ? { jsonSchema: options.outputFormat.schema } : {}),
    ...(typeof systemPrompt === 'object' ? {} : { systemPrompt: [systemPrompt ?? ''] }),
    ...(typeof systemPrompt === 'object' && systemPrompt.append !== undefined
      ? { appendSystemPrompt: systemPrompt.append }
      : {}),
    ...(options.agents ? { agents: options.agents } : {}),
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(options.skills ? { skills: options.skills } : {}),
  });
  void speak();

  async function speak(): Promise<void> {
    if (typeof prompt === 'string') return send({ ...userMessage([{ type: 'text', text: prompt }]) });
    for await (const message of prompt) send({ ...message });
    child.stdin.end();
  }

  async function* read(): AsyncGenerator<Json> {
    for (;;) {
      const next = messages.shift();
      if (next !== undefined) yield next;
      else if (isOver) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }

  return {
    interrupt: () => request('interrupt'),
    setPermissionMode: (mode) => request('set_permission_mode', { mode }),
    setModel: (model) => request('set_model', model === undefined ? {} : { model }),
    setMaxThinkingTokens: (tokens) => request('set_max_thinking_tokens', { max_thinking_tokens: tokens }),
    mcpServerStatus: () => request('mcp_status'),
    rewindFiles: (id, { dryRun = false } = {}) => request('rewind_files', { user_message_id: id, dry_run: dryRun }),
    request,
    initialized,
    child,
    write,
    ended,
    strange,
    [Symbol.asyncIterator]: read,
  };
}
