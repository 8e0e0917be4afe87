import { defineAgent, type AgentDefinition, type Tool } from '@treadle/core';

import { clientFiles } from '../../acp/client-files.ts';
import { inTerminals } from '../../acp/client-terminal.ts';
import { skillCommand, type SlashCommand } from '../../acp/commands.ts';
import type { OpenRequest, Place } from '../../acp/host.ts';
import type { KeyGuard } from '../asking/keys.ts';
import { openTerminal, readLines } from '../asking/terminal.ts';
import type { CommandContext } from '../context.ts';
import { defined } from '../defined.ts';
import type { CliIo } from '../io.ts';
import { readLogin } from '../../settings/login-file.ts';
import { chooseModel } from '../run/choose-model.ts';
import { rightsFor, withAgents } from '../run/agent.ts';
import { commandsOf } from '../run/prompt-commands.ts';
import { defaultInstructions } from '../run/instructions.ts';
import { mcpFor } from '../run/mcp.ts';
import { projectInstructionsOf } from '../run/project-instructions.ts';
import type { RunRequest } from '../run/request.ts';
import { skillsFor } from '../run/skills.ts';
import { agentIdOf } from '../sessions/folder-sessions.ts';
import { modelsFor } from './models.ts';

/** A folder that an editor has opened, with what `treadle run` would have there: settings, tools, MCP servers and skills. */
export async function placeFor(
  context: CommandContext & { readonly guard: KeyGuard },
  {
    request,
    env,
    opening,
  }: { readonly request: RunRequest; readonly env: CliIo['env']; readonly opening: OpenRequest },
): Promise<Place> {
  const { io, parts, out, note, guard } = context;
  const { folder } = opening;
  const choice = chooseModel(request.model, env, (await readLogin(io)).model);
  const nobody = { ...openTerminal(io, out, readLines(io.stdin)), isThere: false };
  const { client, sessionId } = opening;
  const { directories } = opening;
  const rights = await rightsFor(context, { ...request, directories }, folder, nobody, clientFiles(client, sessionId));
  const isShown = client.capabilities.terminal === true && (await rights.runsUnconfined());
  const shown = (tool: Tool): Tool =>
    isShown && tool.name === 'bash' ? guard.tool(inTerminals(tool, { client, sessionId, folder })) : tool;
  // A run pauses where somebody is to be asked: the editor does.
  const { canUseTool: _, ...permissions } = rights.permissions;
  const servers = await mcpFor({ io: { ...io, env }, note, request, folder, servers: opening.servers }, rights, nobody);
  const skills = await skillsFor({ io, note, request, folder }, rights);
  const { isActiveSkill } = await import('@treadle/skills');
  const projectInstructions = request.instructions ? await projectInstructionsOf(folder, note) : '';
  const loadModel = async (name: string) => guard.model(await parts.model(name, env));
  const defaultModel = await loadModel(choice.name);
  const agentOf = async ({ model: name, thinking }: Parameters<Place['agent']>[0]): Promise<AgentDefinition> => {
    const model = name === nameOf(defaultModel) ? defaultModel : await loadModel(name);
    const moreTools = [...(servers?.tools ?? []), ...skills.tools].map(guard.tool);
    const withServers = { ...rights, toolsIn: (root: string) => [...rights.toolsIn(root).map(shown), ...moreTools] };
    const tools = await withAgents(withServers, { model, loadModel, note }, request, folder);
    return {
      id: agentIdOf(folder),
      model,
      ...defined({ thinking: thinking ?? undefined }),
      instructions: skills.instructions(request.system ?? defaultInstructions(folder)),
      projectInstructions,
      tools,
      permissions,
      hooks: rights.hooks,
      knownTools: rights.knownTools,
      context: { recall: request.tools === undefined, pin: isActiveSkill },
      limits: request.limits,
      title: request.title,
      validator: rights.validator,
    };
  };
  // Read once: what changes in a trusted folder later isn't trusted.
  const { commands } = await commandsOf({ io, folder, ...rights });
  return {
    folder,
    choices: { models: await modelsFor(env), bypass: permissions.allowBypass === true },
    defaults: { mode: permissions.mode ?? 'default', model: nameOf(defaultModel), thinking: request.thinking ?? null },
    agent: async (chosen) => defineAgent(await agentOf(chosen)),
    async commands() {
      const prompts = (await servers?.prompts()) ?? [];
      return [
        ...commands.map(({ name, description, argumentHint, expand }): SlashCommand => ({
          name,
          description,
          ...(argumentHint === '' ? {} : { input: { hint: argumentHint } }),
          run: async (words) => ({ prompt: expand(words) }),
        })),
        ...skills.list.map(({ name, description }) => skillCommand(name, description)),
        ...prompts.map(({ server, name, command, description, arguments: wanted }): SlashCommand => ({
          name: command,
          description: description === '' ? `The prompt ${name} of ${server}.` : description,
          ...(wanted.length > 0 ? { input: { hint: wanted.map((each) => each.name).join(' ') } } : {}),
          run: async (words) => ({ prompt: (await servers?.prompt(server, name, valuesOf(wanted, words))) ?? [] }),
        })),
      ];
    },
    aboutCommands: rights.aboutCommands,
    close: async () => servers?.close(),
  };
}

const nameOf = ({ provider, id }: { readonly provider: string; readonly id: string }): string => `${provider}/${id}`;

/** One word for each argument, and the rest for the last. */
function valuesOf(wanted: readonly { readonly name: string }[], words: string): Record<string, string> {
  const given = words === '' ? [] : words.split(/\s+/);
  return Object.fromEntries(
    wanted.flatMap(({ name }, index) => {
      const value = index === wanted.length - 1 ? given.slice(index).join(' ') : given[index];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}
