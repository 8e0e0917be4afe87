import { mustBeCount, mustBePositive } from '../../check-numbers.ts';
import { TreadleError } from '../../errors.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import type { Tool } from '../../tools/tool.ts';
import { inProcessTasks } from './in-process.ts';
import type { TaskRunner } from '../../ports/task-runner.ts';
import { taskTools } from './tools.ts';

/** The argument by which a model puts a call into the background. */
const RUN_IN_BACKGROUND = 'run_in_background';

/** How an agent's calls may run in the background. */
export interface BackgroundOptions {
  /** Which tools. Default: those that offer it themselves (`background: true`), such as `bash`. */
  readonly tools?: 'all' | readonly string[];
  /** Tasks of one session that run at the same time; the others wait. Default 20. */
  readonly maxRunning?: number;
  /** Milliseconds between looks at a task, where neither the task nor the caller says otherwise. Default 1,000. */
  readonly pollIntervalMs?: number;
  /** Milliseconds after which a task is ended. Default: none. */
  readonly timeoutMs?: number;
  /** True starts a run when a task ends and nothing is going on. Default false: the next run is told. */
  readonly wake?: boolean;
  /** What a run does that would end while tasks of its session are running: `leave` them (the default), or `wait` for them. */
  readonly atEnd?: 'leave' | 'wait';
  /**
   * What a sub-agent's task does that needs an answer: `wait` for it (it is among the session's `pending`), or `fail`. Default
   * `wait`; `fail` where a run waits for its tasks at its end, for it would wait for somebody.
   */
  readonly whenAsked?: 'wait' | 'fail';
  /** Where tasks are done. Default: in this process. */
  readonly runner?: () => TaskRunner;
}

/** The same, checked and with its defaults. */
export interface BackgroundSettings extends Required<Omit<BackgroundOptions, 'tools' | 'timeoutMs'>> {
  readonly tools: ReadonlySet<string>;
  readonly timeoutMs: number | undefined;
}

const DEFAULT_MAX_RUNNING = 20;
const DEFAULT_POLL_INTERVAL_MS = 1000;

/**
 * The settings, and the tools with what the background adds to them; null settings where nothing runs in the background.
 *
 * @throws TreadleError `invalid_definition`.
 */
export function checkBackground(
  given: true | BackgroundOptions | undefined,
  tools: readonly Tool[],
): { readonly background: BackgroundSettings | null; readonly tools: readonly Tool[] } {
  if (given === undefined) return { background: null, tools };
  const options = given === true ? {} : given;
  const { maxRunning = DEFAULT_MAX_RUNNING, pollIntervalMs = DEFAULT_POLL_INTERVAL_MS, timeoutMs } = options;
  mustBeCount('background: maxRunning', maxRunning);
  mustBePositive('background: pollIntervalMs', pollIntervalMs);
  if (timeoutMs !== undefined) mustBePositive('background: timeoutMs', timeoutMs);
  const names = namesOf(options.tools, tools);
  return {
    background: Object.freeze({
      tools: names,
      maxRunning,
      pollIntervalMs,
      timeoutMs,
      wake: options.wake ?? false,
      atEnd: options.atEnd ?? 'leave',
      whenAsked: options.whenAsked ?? (options.atEnd === 'wait' ? 'fail' : 'wait'),
      runner: options.runner ?? inProcessTasks,
    }),
    tools: [...tools.map((tool) => (names.has(tool.name) ? withBackground(tool) : tool)), ...taskTools()],
  };
}

const refuse = (problem: string): never => {
  throw new TreadleError('invalid_definition', `background: ${problem}`);
};

const canRun = (tool: Tool): boolean => tool.runs === 'server' && !tool.endsRun;

function namesOf(given: BackgroundOptions['tools'], tools: readonly Tool[]): ReadonlySet<string> {
  if (given === undefined)
    return new Set(tools.filter((tool) => tool.background === true && canRun(tool)).map(({ name }) => name));
  if (given === 'all') return new Set(tools.filter(canRun).map(({ name }) => name));
  for (const name of given) {
    const tool = tools.find((each) => each.name === name);
    if (!tool) refuse(`the agent has no tool named "${name}".`);
    else if (!canRun(tool))
      refuse(`"${name}" can't run in the background: it is a ${tool.endsRun ? 'stop' : 'client'} tool.`);
  }
  return new Set(given);
}

/** The tool with one more argument, which is taken off again before the arguments are checked. */
function withBackground(tool: Tool): Tool {
  const { properties } = tool.inputSchema;
  const own = isJsonObject(properties) ? properties : {};
  if (Object.hasOwn(own, RUN_IN_BACKGROUND)) {
    refuse(`${tool.name} has an argument "${RUN_IN_BACKGROUND}" of its own. Rename it.`);
  }
  const added = {
    type: 'boolean',
    description:
      'True returns a task id at once and runs the call in the background. You are told its result when it has ended; ' +
      'task_output shows what there is until then.',
  };
  return Object.freeze({
    ...tool,
    inputSchema: { ...tool.inputSchema, properties: { ...own, [RUN_IN_BACKGROUND]: added } },
    check(args: JsonObject, validator) {
      const { [RUN_IN_BACKGROUND]: wanted, ...rest } = args;
      if (wanted === undefined || typeof wanted === 'boolean') return tool.check(rest, validator);
      return { ok: false, issues: [{ path: `/${RUN_IN_BACKGROUND}`, message: 'it must be true or false' }] } as const;
    },
  } satisfies Tool);
}

/** Whether a call is to run in the background. */
export const wantsBackground = (
  background: BackgroundSettings | null,
  call: { readonly name: string; readonly arguments: JsonObject },
): boolean => background !== null && call.arguments[RUN_IN_BACKGROUND] === true && background.tools.has(call.name);
