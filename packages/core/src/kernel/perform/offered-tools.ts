import { recallTool, toolsUnder } from '../features.ts';
import type { Agent } from '../../agent/agent.ts';
import { RECALL } from '../../messages/result-share.ts';
import type { ToolDefinition } from '../../model/model.ts';
import { clientTool } from '../../tools/define/check-offered.ts';
import type { OfferedTool } from '../../tools/offered-tool.ts';
import type { Tool } from '../../tools/tool.ts';
import { mayRecall } from '../services/context-window.ts';
import type { SessionState } from '../state.ts';

const namesOf = (tools: readonly Tool[], known: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([...known, ...tools.map(({ name }) => name)]);

/** Agents with offered tools, by the list of these: it is the same for all of a run. */
const made = new WeakMap<readonly OfferedTool[], { readonly of: Agent; readonly agent: Agent }>();

/** Agents with the tools of their source, by the list of these. */
const sourced = new WeakMap<readonly Tool[], { readonly of: Agent; readonly agent: Agent }>();

/** Agents with `recall`, by those without. */
const recalling = new WeakMap<Agent, Agent>();

/**
 * The agent as the open run has it: with `recall` once something was cut out of a result or compacted away, and with the
 * tools that the run's client offers. The agent's own tools stay what they are, whatever is offered under their names, and its rules hold
 * for the others as for its own.
 */
export function agentOfRun(given: Agent, { run, wasCut, compactedTo }: SessionState): Agent {
  const own = given.toolSearch?.source ? withSource(given, given.toolSearch.source()) : given;
  const agent = wasCut === true || compactedTo !== null ? withRecall(own) : own;
  const offered = run?.clientTools;
  if (offered === undefined) return agent;
  const known = made.get(offered);
  if (known?.of === agent) return known.agent;
  const extended = withTools(agent, offered.filter(({ name }) => !agent.tools.has(name)).map(clientTool));
  made.set(offered, { of: agent, agent: extended });
  return extended;
}

/** With the tools that are listed now: the model searches for them. */
function withSource(agent: Agent, listed: readonly Tool[]): Agent {
  const known = sourced.get(listed);
  if (known?.of === agent) return known.agent;
  const added = listed.filter(({ name }) => !agent.tools.has(name));
  const { toolDefinitions, toolSearch } = agent;
  const deferred = namesOf(added, toolSearch?.deferred ?? new Set());
  const search = { source: null, ...toolSearch, deferred };
  const extended = Object.freeze({ ...withTools(agent, added), toolDefinitions, toolSearch: search });
  sourced.set(listed, { of: agent, agent: extended });
  return extended;
}

function withRecall(agent: Agent): Agent {
  if (agent.tools.has(RECALL) || !mayRecall(agent)) return agent;
  let extended = recalling.get(agent);
  if (!extended) recalling.set(agent, (extended = withTools(agent, [recallTool()])));
  return extended;
}

function withTools(agent: Agent, added: readonly Tool[]): Agent {
  const { permissions } = agent;
  const all = [...permissions.tools, ...added];
  const under = toolsUnder(all, permissions.mode, permissions.rules);
  const definitions = added
    .filter(({ name }) => !under.removed.has(name))
    .map(({ name, description, inputSchema: parameters }): ToolDefinition => ({
      name,
      description,
      inputSchema: parameters,
    }));
  return Object.freeze({
    ...agent,
    tools: new Map([...agent.tools, ...added.map((tool) => [tool.name, tool] as const)]),
    toolDefinitions: Object.freeze([...agent.toolDefinitions, ...definitions]),
    permissions: Object.freeze({ ...permissions, tools: all, known: namesOf(all, permissions.known), ...under }),
  });
}
