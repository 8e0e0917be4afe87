// A tree of agents whose commands never end by themselves. It is cancelled when it is told to, and says what came of it; then
// the process has nothing left to wait for, or it would not end.
import { asTool, createSession, defineAgent, memoryJournal, type Agent, type DurableEvent } from '@treadle/core';
import { logOf, scriptedModel } from '@treadle/testing';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bashTool } from '../bash-tool.ts';

/** What it is told to begin with. */
export interface TreeTask {
  readonly root: string;
  /** Each is run by a worker of its own. It adds a line to the file `begun` and goes on for ever. */
  readonly commands: readonly string[];
}

/** What it says when all of it was cancelled. */
export interface TreeOutcome {
  readonly status: string;
  /** How the run of each agent in the tree ended, by its log. */
  readonly ends: readonly string[];
}

const message = (): Promise<unknown> => new Promise((resolve) => void process.once('message', resolve));
const say = (said: unknown): Promise<void> => new Promise((resolve) => void process.send?.(said, () => resolve()));

const { root, commands } = (await message()) as TreeTask;
const tools = [bashTool({ root, sandbox: 'off' })];
const permissions = { mode: 'bypass', allowBypass: true } as const;

function worker(id: string, command: string): Agent {
  const model = scriptedModel([{ toolCalls: [{ name: 'bash', arguments: { command } }] }, 'Never said.']);
  return defineAgent({ id, model, tools, permissions });
}

/** Gives each of these agents work, all at once. */
function boss(id: string, agents: readonly Agent[]): Agent {
  const toolCalls = agents.map((agent) => ({ name: agent.id, arguments: { prompt: 'Go.' } }));
  return defineAgent({
    id,
    model: scriptedModel([{ toolCalls }, 'Never said.']),
    tools: agents.map((agent) => asTool(agent, { description: `Is ${agent.id}.` })),
    permissions,
    subAgents: { maxDepth: 2 },
  });
}

/** Half of them work for the boss, and half for one in between. */
const workers = commands.map((command, index) => worker(`worker${index}`, command));
const half = Math.ceil(workers.length / 2);
const top = boss('boss', [...workers.slice(0, half), boss('between', workers.slice(half))]);

async function endsBelow(sessionId: string): Promise<string[]> {
  const log = await logOf(journal, sessionId);
  const children = log.flatMap((event) => (event.type === 'tool_started' ? (event.childSessionId ?? []) : []));
  const ends = log.filter((event): event is Extract<DurableEvent, { type: 'run_ended' }> => event.type === 'run_ended');
  const below = await Promise.all([...new Set(children)].map((child) => endsBelow(child)));
  return [ends.map(({ status }) => status).join(), ...below.flat()];
}

const begun = (): number => {
  const path = join(root, 'begun');
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0;
};

const journal = memoryJournal();
const session = await createSession(top, { journal, id: 's' });
const run = session.prompt('Go.');
while (begun() < commands.length) await new Promise((resolve) => setTimeout(resolve, 20));
const cancel = message();
await say('begun');
await cancel;
await run.abort('Enough.');
const { status } = await run.result;
await say({ status, ends: await endsBelow('s') } satisfies TreeOutcome);
process.disconnect();
