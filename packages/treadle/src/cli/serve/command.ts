import { defineAgent, type Agent, type Ledger, type Memory, type Model } from '@treadle/core';
import type { OriginRules, ServerLimits } from '@treadle/server';

import { hostname } from 'node:os';

import type { CliIo } from '../io.ts';
import type { ModelChoice } from '../run/choose-model.ts';
import { SERVE_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { SIGNAL_EXIT } from '../exit-codes.ts';
import { realFolder } from '../sessions/folder-sessions.ts';
import { infoText } from '../help.ts';
import { defaultInstructions } from '../run/instructions.ts';
import { printed } from '../io.ts';
import { parseOptions } from '../options.ts';
import { keyGuard, type KeyGuard } from '../asking/keys.ts';
import { projectInstructionsOf } from '../run/project-instructions.ts';
import { rightsFor } from '../run/agent.ts';
import { mcpFor, toolSource } from '../run/mcp.ts';
import { skillsFor } from '../run/skills.ts';
import { readRunRequest } from '../run/request.ts';
import { openTerminal, readLines } from '../asking/terminal.ts';
import { servedMetrics, watchedBy } from './metrics.ts';
import { openStores } from './stores.ts';
import { telemetry } from './telemetry.ts';
import { UsageError } from '../usage-error.ts';

/** `treadle serve`: an agent of a folder over HTTP, until a signal comes. Returns the exit code. */
export async function serveCommand(context: CommandContext, args: readonly string[]): Promise<number> {
  const { io, out, err, interruptions } = context;
  const options = parseOptions(args, SERVE_OPTIONS);
  const info = infoText('serve', options);
  if (info !== null) return printed(out, info);
  const [extra] = options.positionals;
  if (extra !== undefined) throw new UsageError(`'${extra}' is too much: treadle serve takes no prompt.`);
  const folder = await realFolder(io.cwd, options.text('cwd') ?? '.');
  const { serve } = await import('@treadle/server');
  const { relayRoutes } = await import('@treadle/formats');
  const { chosenModel } = await import('../login/first-run.ts');
  const [first, ...others] = options.list('model') ?? [];
  const { choice, env } = await chosenModel(context, first);
  await io.hideEnvironment?.();
  const guard = await keyGuard(env);
  const note = (text: string): void => context.note(guard.text(text));
  const { TREADLE_TOKEN: own } = env;
  const mcpConfig = options.flag('no-mcp') ? null : (options.list('mcp-config') ?? []);
  const skills = options.flag('no-skills') ? null : (options.list('skills') ?? []);
  const stores = await openStores(context, {
    database: options.text('database'),
    blobs: options.text('blobs'),
    isShared: options.flag('shared-folder'),
    maxCost: options.amount('max-cost'),
    memory: options.flag('memory'),
  });
  const { ledger, memory } = stores;
  const { agent, close } = await agentOf(
    { ...context, note, guard },
    {
      ...(ledger && { ledger }),
      ...(memory && { memory }),
      id: `serve:${folder}`,
      folder,
      choice,
      others,
      env,
      title: options.flag('title'),
      mcpConfig,
      skills,
    },
  ).catch(async (error: unknown) => {
    await stores.close();
    throw error;
  });
  const metrics = options.flag('metrics') ? await servedMetrics() : null;
  const watchers = [...(metrics ? [metrics.onSession] : []), ...(options.flag('telemetry') ? [await telemetry()] : [])];
  const journal = guard.journal(stores.journal);
  try {
    const serving = await serve({
      agents: [agent],
      journal,
      routes: [...relayRoutes, ...(metrics ? [metrics.route] : [])],
      blobs: stores.blobs,
      ...(stores.bus && { bus: stores.bus }),
      ...(stores.shared && { shared: stores.shared }),
      host: options.text('host') ?? '127.0.0.1',
      port: options.count('port') ?? 0,
      origins: originsOf(options.list('allowed-host'), options.list('origin')),
      basePath: options.text('base-path') ?? '',
      limits: limitsOf(options.count('max-requests')),
      ...(options.flag('offer-tools') ? { offeredTools: true } : {}),
      owner: `treadle serve, process ${process.pid} on ${hostname()}`,
      ...(own ? { tokens: [{ name: 'owner', token: own, mayGrant: true }] } : {}),
      onSession: watchedBy(watchers),
      log: (record) => {
        const { level, event, error } = record;
        if (options.flag('log')) err.print(`${guard.text(JSON.stringify(record))}\n`);
        else if (level !== 'info') note(`${event}${error === undefined ? '' : `: ${String(error)}`}`);
      },
    });
    out.print(`${serving.url}\n`);
    if (serving.token !== null) out.print(`Token, shown only now: ${serving.token}\n`);
    void serving.recovered.then(
      (sessions) => sessions.length > 0 && note(`Sessions that were left unfinished go on: ${sessions.length}.`),
      () => {},
    );
    const signal = await interruptions.first;
    note('Stopping. What is under way has ten seconds; what is left goes on with the next start.');
    await serving.close();
    return SIGNAL_EXIT[signal];
  } finally {
    await close();
    await stores.close();
  }
}

/** As many again at once, four times over, as by default. */
const limitsOf = (perSecond: number | undefined): Partial<ServerLimits> =>
  perSecond === undefined ? {} : { requests: { perSecond, burst: 4 * perSecond } };

/** Names are allowed besides those that are allowed by themselves. */
const originsOf = (hosts: readonly string[] = [], origins: readonly string[] = []): OriginRules => ({
  ...(hosts.length > 0 && { hosts }),
  origins,
});

/** The agent of a folder. What it may not do by itself, it asks the clients of the server. */
export async function agentOf(
  context: CommandContext & { readonly guard: KeyGuard },
  {
    id,
    folder,
    choice,
    others = [],
    env,
    title,
    mcpConfig,
    skills,
    ledger,
    memory,
  }: {
    /** Its own sessions, and none of those that the command line runs in this folder. */
    readonly id: string;
    readonly folder: string;
    readonly choice: ModelChoice;
    /** Models that requests may name, as `provider/model`. */
    readonly others?: readonly string[];
    readonly env: CliIo['env'];
    readonly title: boolean;
    /** Files of MCP servers besides those of the user and the folder; null for no servers at all. */
    readonly mcpConfig: readonly string[] | null;
    /** Packages and folders of skills besides those of the user and the folder; null for no skills at all. */
    readonly skills: readonly string[] | null;
    /** What all its sessions pay from. */
    readonly ledger?: Ledger;
    readonly memory?: Memory;
  },
): Promise<{
  readonly agent: Agent;
  readonly rights: Pick<Awaited<ReturnType<typeof rightsFor>>, 'isTrusted' | 'plugins'>;
  readonly close: () => Promise<void>;
}> {
  const { io, parts, out, note, guard } = context;
  const modelNamed = async (name: string): Promise<Model> => guard.model(await parts.model(name, env));
  const model = await modelNamed(choice.name);
  const named = await Promise.all(others.map(async (name) => [name, await modelNamed(name)] as const));
  const nobody = { ...openTerminal(io, out, readLines(io.stdin)), isThere: false };
  const rights = await rightsFor(context, readRunRequest(['--prompt', 'none', '--no-stdin']), folder, nobody);
  const { canUseTool: _, ...permissions } = rights.permissions;
  if (choice.reason !== null) note(`Model: ${model.provider}/${model.id} (${choice.reason}).`);
  const request = { mcpConfig, skills, tools: undefined, trust: false };
  const servers = await mcpFor({ io: { ...io, env }, note, request, folder }, rights, nobody);
  const { isActiveSkill } = await import('@treadle/skills');
  const withSkills = await skillsFor({ io, note, request, folder }, rights);
  const agent = defineAgent({
    id,
    model,
    ...(named.length > 0 && { routing: { models: Object.fromEntries(named) } }),
    instructions: withSkills.instructions(defaultInstructions(folder)),
    projectInstructions: await projectInstructionsOf(folder, note),
    tools: [...rights.toolsIn(folder), ...[...(servers?.tools ?? []), ...withSkills.tools].map(guard.tool)],
    ...(servers && { toolSearch: { source: toolSource(servers, guard.tool) } }),
    permissions,
    hooks: rights.hooks,
    knownTools: rights.knownTools,
    title,
    // A client gets a summary at the step limit, not silence.
    wrapUp: true,
    context: { recall: true, pin: isActiveSkill },
    validator: rights.validator,
    ...(ledger && { budget: { ledger } }),
    ...(memory && { memory }),
  });
  return { agent, rights, close: async () => servers?.close() };
}
