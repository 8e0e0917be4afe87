import { defineHook, systemClock } from '@treadle/core';
import type { Clock, Hook, HookEvent, HookInput, HookResult, JsonObject } from '@treadle/core';
import type { HookContext } from '@treadle/core/features';
import { runCommand, type CommandEnd } from '../bash/command.ts';
import { commandVariables, withoutSecrets } from '../bash/environment.ts';
import { KB, MB } from '../options.ts';
import { answerOf } from './answer.ts';
import { transcriptFile, writeTranscript } from './transcript.ts';
import { hookPayload, type Surroundings } from './payload.ts';

/** Options of {@link commandHook}. */
export interface CommandHookOptions {
  /** Run by `bash -c`. */
  readonly command: string;
  /** The folder it runs in, and the `cwd` it is told. */
  readonly folder: string;
  /** A regular expression over the tool's name, the source, the trigger; see `defineHook`. */
  readonly matcher?: string;
  /** Milliseconds. Default 60,000. A gate that takes longer denies. */
  readonly timeoutMs?: number;
  /** True when nothing waits for it and nothing it says counts. */
  readonly background?: boolean;
  /** Default: this process's, without what looks like a secret. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The `transcript_path` it is told. Default: a file with the conversation as models see it, which goes with this process. */
  readonly transcriptPath?: string;
  /** Other names for tools and their input than ours: what the command is told, and what its answer means. */
  readonly translate?: HookTranslation;
  readonly clock?: Clock;
}

/** How a hook is told of calls in another program's words. */
export interface HookTranslation {
  readonly payload: (told: JsonObject, input: HookInput) => JsonObject;
  readonly answer: (said: JsonObject, input: HookInput) => JsonObject;
}

/** What a hook may print; more is no answer. */
const MAX_OUTPUT = MB;
const GRACE_MS = 1000;

/**
 * A hook that is a shell command. It is told what happens as one JSON object on its standard input, with the field names
 * of the Claude Agent SDK (`hook_event_name`, `tool_name`, `tool_input`, …), and answers by its exit code and, in JSON,
 * on its standard output: 0 goes on, 2 says no with the standard error as the reason. At a gate every other code, a
 * signal, a timeout and output that can't be understood say no too; elsewhere they are warnings.
 *
 * @example
 * ```ts
 * import { commandHook } from '@treadle/tools';
 *
 * const hook = commandHook('before_tool', {
 *   command: 'grep -q "rm -rf" && { echo "No." >&2; exit 2; } || true',
 *   folder: '.',
 *   matcher: 'bash',
 * });
 * console.log(hook.event); // before_tool
 * ```
 */
export function commandHook(event: HookEvent, options: CommandHookOptions): Hook {
  const { command, matcher, timeoutMs, background } = options;
  return defineHook(event, (input, context) => run(options, input, context), {
    name: `${event} hook \`${shortened(command)}\``,
    ...(matcher === undefined ? {} : { matcher }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(background === undefined ? {} : { background }),
  });
}

const shortened = (command: string): string => (command.length > 60 ? `${command.slice(0, 57)}…` : command);

async function run(
  options: CommandHookOptions,
  input: HookInput,
  { signal, messages, permissionMode }: HookContext,
): Promise<HookResult | undefined> {
  // Failed calls have a moment of their own there.
  if (input.event === 'after_tool' && input.isError) return undefined;
  const transcriptPath = options.transcriptPath ?? (await transcriptFile(input.sessionId, messages));
  if (input.event !== 'subagent_stop') return ask(options, input, { signal, permissionMode, transcriptPath });
  const agents = await writeTranscript(input.transcript);
  try {
    const told = { signal, permissionMode, transcriptPath, agentTranscriptPath: agents.path };
    return await ask(options, input, told);
  } finally {
    await agents.remove();
  }
}

async function ask(
  options: CommandHookOptions,
  input: HookInput,
  { signal, ...told }: Omit<Surroundings, 'folder'> & { readonly signal: AbortSignal },
): Promise<HookResult | undefined> {
  const { command, folder, environment = process.env, clock = systemClock, translate } = options;
  const payload = hookPayload(input, { folder, ...told });
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let length = 0;
  const end = await runCommand({
    file: 'bash',
    args: ['-c', command],
    folder,
    environment: { ...withoutSecrets(environment), ...commandVariables, TREADLE_PROJECT_DIR: folder },
    // The loop keeps the time, and says so by the signal.
    timeoutMs: LONGEST_MS,
    graceMs: GRACE_MS,
    signal,
    clock,
    input: JSON.stringify(translate?.payload(payload, input) ?? payload),
    onOutput(stream, bytes, stop) {
      length += bytes.length;
      if (length > MAX_OUTPUT) stop();
      else output[stream].push(bytes);
    },
  });
  const text = (stream: 'stdout' | 'stderr'): string => Buffer.concat(output[stream]).toString('utf8');
  if (end.exitCode === 0 && end.stopped === undefined)
    return answerOf(input.event, text('stdout'), (said) => translate?.answer(said, input) ?? said);
  const said = text('stderr').trim();
  if (end.exitCode === 2 && end.stopped === undefined) return refusal(input.event, said);
  throw new Error(`${endInWords(end)}${said === '' ? '' : `: ${said.slice(0, 2 * KB)}`}`);
}

const LONGEST_MS = 2_147_483_647;

/** Where nothing can be refused any more, the model is told. */
function refusal(event: HookEvent, said: string): HookResult {
  const reason = said === '' ? 'The hook said no.' : said;
  return event === 'after_tool' || event === 'tool_failed' ? { context: reason } : { decision: 'deny', reason };
}

function endInWords({ exitCode, signal, stopped }: CommandEnd): string {
  if (stopped === 'output') return `it printed more than ${MAX_OUTPUT} bytes`;
  if (stopped !== undefined) return 'it was stopped';
  return exitCode === null ? `a signal ended it (${signal ?? 'unknown'})` : `it exited with ${exitCode}`;
}
