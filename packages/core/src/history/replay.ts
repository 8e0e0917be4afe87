import type { Agent } from '../agent/agent.ts';
import { canonicalJson } from '../canonical.ts';
import type { RunStatus } from '../events/events.ts';
import { TreadleError } from '../errors.ts';
import type { Journal } from '../journal/journal.ts';
import type { JsonObject } from '../json.ts';
import { isStopToolName, OUTPUT_TOOL } from '../tools/stop-tool-names.ts';
import { systemClock } from '../ports/clock.ts';
import { randomIds } from '../ports/ids.ts';
import { openSession, type Session, type SessionOptions } from '../session/session.ts';
import { forkSession } from './sessions.ts';
import {
  differencesOf,
  readRuns,
  recordedModel,
  type ReplayDifference,
  type RecordedResult,
  type RecordedRun,
} from './recorded.ts';
import type { Tool } from '../tools/tool.ts';

/** Options of {@link replaySession}. */
export interface ReplayOptions extends SessionOptions {
  readonly journal: Journal;
  /** The run to begin with; those after it follow. Default: the first. */
  readonly runId?: string;
  /** The turn of that run to begin with, from 0. Default: its start. */
  readonly turn?: number;
  /** Who replies: the agent's model, or nobody: what was replied is replied again. Default `agent`. */
  readonly model?: 'agent' | 'recorded';
  /**
   * What becomes of a call that has no recorded result: the replay stops, or the tool is executed for real, as far as the
   * agent's permissions let it. Default `stop`.
   */
  readonly onMiss?: 'stop' | 'execute';
  /** Keep the fork in which it was replayed. Default false: it is deleted. */
  readonly keep?: boolean;
}

/** A call that the recording has no result for. */
export interface ReplayMiss {
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly executed: boolean;
}

/** What a replay came to. */
export interface ReplayReport {
  /** The fork in which it was replayed; null when it wasn't kept. */
  readonly sessionId: string | null;
  readonly runs: readonly { readonly runId: string; readonly status: RunStatus | 'paused' }[];
  readonly differences: readonly ReplayDifference[];
  readonly misses: readonly ReplayMiss[];
  /** Recorded results that no call asked for. */
  readonly unused: readonly { readonly toolName: string; readonly arguments: JsonObject }[];
  /** Why it stopped before the end of the recording; null when it didn't. */
  readonly stopped: string | null;
}

/**
 * Plays a session's runs again, in a fork, against the agent as it is now: other instructions, other tools, another model.
 * Tools are not executed: a call gets what a call of the same tool with the same arguments got then, in order. So do calls of
 * client tools, and nobody is asked for permission. Steering and follow-ups come at the turns at which they came.
 *
 * @throws TreadleError `nothing_to_continue` when there is no such run or turn.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, defineTool, memoryJournal } from '@treadle/core';
 * import { replaySession } from '@treadle/core/history';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * const weather = defineTool({ name: 'weather', description: 'The weather.', execute: () => 'rain' });
 * const model = scriptedModel([{ toolCalls: [{ name: 'weather' }] }, 'It rains.']);
 * const session = await createSession(defineAgent({ model, tools: [weather] }), { journal });
 * await session.prompt('How is the weather?').result;
 *
 * const other = scriptedModel([{ toolCalls: [{ name: 'weather' }] }, 'Take an umbrella.']);
 * const { differences, misses } = await replaySession(defineAgent({ model: other, tools: [weather] }), session.id, { journal });
 * console.log(differences.map(({ turn, recorded, replayed }) => [turn, recorded, replayed]), misses.length);
 * // [ [ 1, 'It rains.', 'Take an umbrella.' ] ] 0
 * ```
 */
export async function replaySession(agent: Agent, sessionId: string, options: ReplayOptions): Promise<ReplayReport> {
  const { journal, clock = systemClock, ids = randomIds, turn = 0 } = options;
  const all = await readRuns(journal, sessionId);
  const first = options.runId === undefined ? 0 : all.findIndex(({ runId }) => runId === options.runId);
  const [begin, ...others] = all.slice(Math.max(0, first));
  const from = turn === 0 ? begin?.startedSeq : begin?.turns[turn]?.startedSeq;
  if (first < 0 || !begin || from === undefined) {
    throw new TreadleError('nothing_to_continue', `Session ${sessionId} has no such run or turn to replay.`);
  }
  const recorded: readonly RecordedRun[] = [{ ...begin, turns: begin.turns.slice(turn), skipped: turn }, ...others];
  const supply = createSupply(recorded, options.onMiss ?? 'stop');
  const id = await forkSession(journal, sessionId, { at: from - 1, tags: ['replay'] }, { clock, ids });
  try {
    const session = await openSession(replaying(agent, recorded, supply, options), id, options);
    return await play(journal, session, recorded, supply, options.keep === true ? id : null);
  } finally {
    if (options.keep !== true) await journal.remove(id);
  }
}

/** Recorded results, each for the next call like the one that got it. */
interface Supply {
  take(toolName: string, args: JsonObject): RecordedResult | null;
  miss(toolName: string, args: JsonObject): void;
  readonly onMiss: 'stop' | 'execute';
  readonly misses: ReplayMiss[];
  unused(): RecordedResult[];
  /** Called when the replay is to stop. */
  stop: (why: string) => void;
}

function createSupply(runs: readonly RecordedRun[], onMiss: 'stop' | 'execute'): Supply {
  const keyOf = (toolName: string, args: JsonObject): string => `${toolName} ${canonicalJson(args)}`;
  const results = runs.flatMap(({ turns }) => turns.flatMap((turn) => turn.results));
  const left = Map.groupBy(results, (result) => keyOf(result.toolName, result.arguments));
  const supply: Supply = {
    onMiss,
    misses: [],
    stop: () => {},
    take: (toolName, args) => left.get(keyOf(toolName, args))?.shift() ?? null,
    miss(toolName, args) {
      supply.misses.push({ toolName, arguments: args, executed: onMiss === 'execute' });
      if (onMiss === 'stop') supply.stop(`No result of ${toolName} with these arguments was recorded.`);
    },
    unused: () => [...left.values()].flat(),
  };
  return supply;
}

/** The agent with its tools answered from the recording. */
function replaying(agent: Agent, runs: readonly RecordedRun[], supply: Supply, options: ReplayOptions): Agent {
  const own = (name: string): boolean => isStopToolName(name) || name === OUTPUT_TOOL;
  const tools = new Map([...agent.tools].map(([name, tool]) => [name, own(name) ? tool : answered(tool, supply)]));
  const model = options.model === 'recorded' ? recordedModel(agent.model, runs) : null;
  // Where nothing is executed there is nothing to permit, and nobody to ask.
  const { rules: _, canUseTool: __, ...kept } = agent.permissions;
  const open = { ...kept, rules: { allow: [], ask: [], deny: [] }, canUseTool: undefined };
  const all = [...tools.values()];
  const permissions = {
    ...open,
    mode: 'default' as const,
    tools: all,
    free: new Set(tools.keys()),
    removed: new Set<string>(),
  };
  return {
    ...agent,
    tools,
    memory: null,
    title: null,
    ...(supply.onMiss === 'stop' ? { permissions } : { permissions: { ...agent.permissions, tools: all } }),
    ...(model ? { model, models: [model], routing: null } : {}),
  };
}

interface Checked {
  readonly raw: JsonObject;
  readonly value: unknown;
}

function answered(tool: Tool, supply: Supply): Tool {
  const { execute, access, approval } = tool;
  const isGated = supply.onMiss === 'execute';
  const { access: _, approval: __, execute: ___, ...facts } = tool;
  return {
    ...facts,
    runs: 'server',
    async check(raw, validator) {
      const outcome = await tool.check(raw, validator);
      return outcome.ok ? { ...outcome, value: { raw, value: outcome.value } satisfies Checked } : outcome;
    },
    ...(isGated && access ? { access: (args: unknown) => access((args as Checked).value) } : {}),
    ...(isGated && approval
      ? { approval: approval === 'always' ? approval : (args: unknown) => approval((args as Checked).value) }
      : {}),
    execute(args, context) {
      const { raw, value } = args as Checked;
      const known = supply.take(tool.name, raw);
      if (known) return { content: known.content, isError: known.isError };
      supply.miss(tool.name, raw);
      if (isGated && execute) return execute(value, context);
      return { content: 'No result of this call was recorded.', isError: true };
    },
  };
}

async function play(
  journal: Journal,
  session: Session,
  recorded: readonly RecordedRun[],
  supply: Supply,
  kept: string | null,
): Promise<ReplayReport> {
  const runs: { runId: string; status: RunStatus | 'paused' }[] = [];
  const differences: ReplayDifference[] = [];
  let stopped: string | null = null;
  supply.stop = (why) => {
    stopped ??= why;
    void session.abort(why).catch(() => {});
  };
  const isStopped = (): boolean => stopped !== null;
  for (const run of recorded) {
    const end = await playRun(session, run);
    runs.push({ runId: run.runId, status: end });
    const again = (await readRuns(journal, session.id)).at(-1);
    differences.push(...differencesOf(run, again, end));
    if (end === 'paused') {
      stopped ??= 'The run paused: somebody would have to answer it.';
      await session.abort(stopped);
    }
    if (isStopped()) break;
  }
  const unused = supply.unused().map(({ toolName, arguments: args }) => ({ toolName, arguments: args }));
  return { sessionId: kept, runs, differences, misses: supply.misses, unused, stopped };
}

/** Plays one run; what came while it was under way comes again at the same turns. */
async function playRun(session: Session, run: RecordedRun): Promise<RunStatus | 'paused'> {
  const { messages, skipped, later } = run;
  for (const { turn, kind, message } of later) {
    if (kind === 'steering' && turn <= skipped) await session.steer(message);
  }
  const continuation = { kind: 'rerun', tag: `replay of ${run.runId}` } as const;
  const isWhole = skipped === 0 && messages !== null;
  const again = isWhole ? session.prompt(messages, { continuation }) : session.continue({ continuation });
  const posts: Promise<void>[] = [];
  // Queued before the turn that took it, and after the one before.
  const forget = session.subscribe((event) => {
    if (event.type !== 'turn_started') return;
    const next = event.turnIndex + skipped + 1;
    for (const { turn, kind, message } of later) {
      if (turn === next && turn > skipped)
        posts.push(kind === 'steering' ? session.steer(message) : session.followUp(message));
    }
  });
  try {
    const { status } = await again.result;
    await Promise.all(posts);
    return status;
  } finally {
    forget();
  }
}
