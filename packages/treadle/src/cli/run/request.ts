import type { Agent, Limits, PermissionMode, ThinkingLevel, UserContent } from '@treadle/core';
import type { AgainOptions, RunAgain } from '@treadle/core/history';

import { resolve } from 'node:path';

import { branchesOf } from './branches-request.ts';
import { RUN_OPTIONS } from '../commands.ts';
import { defined } from '../defined.ts';
import type { CliIo } from '../io.ts';
import { parseOptions, type ParsedOptions } from '../options.ts';
import { asData } from '../prompt/as-data.ts';
import { readStandardInput } from '../standard-input.ts';
import { UsageError } from '../usage-error.ts';

/** As in core, which is too big to load for `--help`. */
const PERMISSION_MODES: readonly PermissionMode[] = ['plan', 'dontAsk', 'default', 'acceptEdits', 'bypass'];

const THINKING: readonly ThinkingLevel[] = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const FORMATS = ['text', 'json', 'events'] as const;

export type OutputFormat = (typeof FORMATS)[number];

/** Where sessions are kept. */
export type KeptIn = Pick<AgainOptions, 'journal' | 'blobs'>;

/** What `treadle run` was asked for. */
export interface RunRequest extends ReturnType<typeof readRunRequest> {
  /** Begins the run in another way, in another session. */
  readonly begin?: (
    agent: Agent,
    kept: KeptIn,
    sessionId: string,
    content: readonly UserContent[],
  ) => Promise<RunAgain>;
  /** Does something else with the agent; what it returns is the exit code. */
  readonly instead?: (agent: Agent, kept: KeptIn, sessionId: string) => Promise<number>;
}

/** Which session the run is in. */
type SessionChoice = { readonly kind: 'new' | 'latest' | 'choose' } | { readonly kind: 'id'; readonly id: string };

/**
 * @param table the flags there are; others than those of run are left to the caller
 * @throws UsageError for arguments that can't be used.
 */
export function readRunRequest(args: readonly string[], table: typeof RUN_OPTIONS = RUN_OPTIONS) {
  const options = parseOptions(args, table);
  const resume = options.text('resume');
  if (options.flag('resume') && options.flag('continue')) {
    throw new UsageError('--continue and --resume name two sessions. Give one of them.');
  }
  const session: SessionChoice =
    resume === undefined
      ? { kind: options.flag('resume') ? 'choose' : options.flag('continue') ? 'latest' : 'new' }
      : { kind: 'id', id: resume };
  if (session.kind !== 'new' && options.flag('no-save'))
    throw new UsageError('--no-save starts a session that is not kept: it continues none.');
  return {
    prompt: promptOf(options.inOrder('prompt')),
    model: options.text('model'),
    thinking: options.choice('thinking', THINKING),
    /** Files beside the prompt. */
    images: options.raw('image'),
    cwd: options.text('cwd'),
    /** More folders that the tools work in. */
    directories: options.raw('add-dir'),
    format: options.choice('output-format', FORMATS) ?? 'text',
    limits: limitsOf(options),
    session,
    /** Null for one run. */
    branches: branchesOf(options.count('branches'), options.text('judge'), options.text('copies')),
    tools: options.list('tools'),
    /** Whether `web_fetch` is among the tools, whatever the settings say. */
    web: options.flag('web'),
    mcpConfig: options.flag('no-mcp') ? null : (options.list('mcp-config') ?? []),
    /** Packages and folders of skills besides those of the user and the folder; null for no skills at all. */
    skills: options.flag('no-skills') ? null : (options.list('skills') ?? []),
    plugins: !options.flag('no-plugins'),
    background: options.flag('background'),
    title: options.flag('title'),
    telemetry: options.flag('telemetry'),
    system: options.text('system'),
    /** Whether the project's instruction files are read. */
    instructions: !options.flag('no-instructions'),
    allow: options.rules('allow') ?? [],
    ask: options.rules('ask') ?? [],
    deny: options.rules('deny') ?? [],
    permissionMode: options.choice('permission-mode', PERMISSION_MODES),
    /** Lines only: nothing that moves, no colours. */
    plain: options.flag('plain'),
    trust: options.flag('trust'),
    save: !options.flag('no-save'),
    /** Whether standard input is read: `auto` when it isn't a terminal. */
    stdin: stdinOf(options.flag('stdin'), options.flag('no-stdin')),
    help: options.flag('help'),
    version: options.flag('version'),
  };
}

function stdinOf(always: boolean, never: boolean): 'auto' | 'always' | 'never' {
  if (always && never) throw new UsageError('Give --stdin or --no-stdin, not both.');
  if (always) return 'always';
  return never ? 'never' : 'auto';
}

function limitsOf(options: Pick<ParsedOptions<keyof typeof RUN_OPTIONS>, 'count' | 'amount'>): Partial<Limits> {
  const seconds = options.amount('max-time');
  return defined({
    maxTurns: options.count('max-turns'),
    maxToolTurns: options.count('max-tool-turns'),
    maxToolCalls: options.count('max-tool-calls'),
    maxTotalTokens: options.count('max-total-tokens'),
    maxDurationMs: seconds === undefined ? undefined : seconds * 1000,
    maxCost: options.amount('max-cost'),
  });
}

function promptOf(all: readonly string[]): string | null {
  if (all.length > 1) {
    throw new UsageError(
      `There is one prompt, and these are ${all.length}. Put it in quotes: treadle run "${all.join(' ')}"`,
    );
  }
  const [prompt = null] = all;
  if (prompt !== null && prompt.trim() === '') throw new UsageError('The prompt is empty.');
  return prompt;
}

/**
 * The texts of the prompt: what was said, and what was piped in. Empty when a session is to go on by itself.
 *
 * @throws UsageError when there is nothing to do.
 */
export async function promptTexts(io: CliIo, request: RunRequest, say: (text: string) => void): Promise<string[]> {
  const { prompt, session } = request;
  const piped = await pipedText(io, request, say);
  const texts = [prompt, prompt !== null && piped !== null ? asData('stdin', piped) : piped];
  const said = texts.filter((text) => text !== null);
  if (said.length === 0 && session.kind === 'new') {
    throw new UsageError(
      'There is no prompt. Give one: treadle run "What is in this folder?" (treadle --help says more.)',
    );
  }
  return said;
}

/**
 * The parts of the message: the texts, the files that the prompt mentions, then those of `--image`. Nothing that was piped
 * in mentions files: it may be anybody's text.
 *
 * @throws UsageError or TreadleError `invalid_attachment` for a file that can't be sent.
 */
export async function promptContent(
  io: CliIo,
  { prompt, images }: Pick<RunRequest, 'prompt' | 'images'>,
  texts: readonly string[],
  folder: string,
  note: (text: string) => void,
): Promise<readonly UserContent[]> {
  const { attachment, mentionedFiles } = await import('../prompt/mentions.ts');
  const mentioned = prompt === null ? [] : await mentionedFiles(prompt, { folder, env: io.env, note });
  const shown = await Promise.all(images.map((name) => attachment(resolve(io.cwd, name), name)));
  const other = images.find((_, index) => shown[index]?.type === 'text');
  if (other !== undefined) {
    throw new UsageError(`--image ${other} is a text. Mention it in the prompt instead: @${other}`);
  }
  return [...texts.map((text) => ({ type: 'text', text }) as const), ...mentioned, ...shown];
}

async function pipedText(io: CliIo, request: RunRequest, say: (text: string) => void): Promise<string | null> {
  if (request.stdin === 'never' || (request.stdin === 'auto' && io.stdin.isTTY === true)) return null;
  const isNeeded = request.stdin === 'always' || (request.prompt === null && request.session.kind === 'new');
  return readStandardInput(io, isNeeded ? 'patient' : 'brief', say);
}
