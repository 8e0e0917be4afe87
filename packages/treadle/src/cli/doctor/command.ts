import { TreadleError, type ModelError } from '@treadle/core';
import { deploymentBaseUrl, DEPLOYMENTS, type Deployment } from '@treadle/models';

import { withUserVariables } from '../../settings/combine.ts';
import { DOCTOR_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { definitionError, type ProbeLimits } from './ask.ts';
import { conformance, type ConformanceResult } from './conformance.ts';
import { contextLength } from './context-length.ts';
import { machineReport, publicUrl } from './machine.ts';
import { conformanceLines, machineLines, probeLines } from './text.ts';
import { isModel, probe, type NamedModel, type ProbeResult } from './probe.ts';
import { EXIT } from '../exit-codes.ts';
import { infoText } from '../help.ts';
import { printed } from '../io.ts';
import { parseOptions } from '../options.ts';
import { checkUrl } from '../serve/stores.ts';
import { UsageError } from '../usage-error.ts';

/** Seconds that one request may take. */
const TIMEOUT_S = 60;

/** `treadle doctor`. Returns the exit code: 1 when something failed. */
export async function doctorCommand(context: CommandContext, args: readonly string[]): Promise<number> {
  const options = parseOptions(args, DOCTOR_OPTIONS);
  const { out, io, interruptions } = context;
  const info = infoText('doctor', options);
  if (info !== null) return printed(out, info);
  const [extra] = options.positionals;
  if (extra !== undefined) throw new UsageError(`'${extra}' is too much. A model goes after --model or --conformance.`);
  const [probed, tried] = [options.list('model'), options.list('conformance')];
  const asJson = options.flag('json');
  if (probed === undefined && tried === undefined) return describe(context, asJson, options.text('database'));

  // All names are read before anything is sent.
  const probeModels = await namedModels(context, probed ?? []);
  const conformanceModels = await namedModels(context, tried ?? []);
  const interrupted = new AbortController();
  interruptions.onFirst(() => interrupted.abort());
  const timeoutMs = (options.count('timeout') ?? TIMEOUT_S) * 1000;
  const limits: ProbeLimits = { io, timeoutMs, signal: interrupted.signal };
  const show = (lines: string): void => {
    if (!asJson) out.print(lines);
  };
  const probes: ProbeResult[] = [];
  const conformances: ConformanceResult[] = [];
  for (const named of probeModels) {
    const result = await interruptions.unless(probe(named, limits));
    probes.push(result);
    show(probeLines(result));
  }
  for (const named of conformanceModels) {
    const result = await interruptions.unless(conformanceOf(named, limits));
    conformances.push(result);
    show(conformanceLines(result));
  }
  if (asJson) out.print(`${JSON.stringify({ models: probes, conformance: conformances })}\n`);
  const findings = [...probes, ...conformances].flatMap((result) => result.findings);
  return probes.every(({ ok }) => ok) && findings.every(({ outcome }) => outcome !== 'fail') ? EXIT.done : EXIT.error;
}

async function describe({ io, out }: CommandContext, asJson: boolean, url: string | undefined): Promise<number> {
  const report = await machineReport(io, url === undefined ? undefined : checkUrl(url));
  out.print(asJson ? `${JSON.stringify(report)}\n` : machineLines(report));
  return report.sessions.writable && (report.database?.problem ?? null) === null ? EXIT.done : EXIT.error;
}

/** @throws UsageError for a name that no model can have. What else is missing, such as a key, is a finding. */
async function namedModels({ parts, io }: CommandContext, names: readonly string[]): Promise<NamedModel[]> {
  const env = await withUserVariables(io);
  const models: NamedModel[] = [];
  for (const name of names) {
    if (name.endsWith('/') || (!name.includes('/') && name !== 'demo')) {
      throw new UsageError(`'${name}' is not the name of a model: write provider/model, such as openai/gpt-6.1-sol.`);
    }
    const row = DEPLOYMENTS.find((deployment) => deployment.name === name.split('/')[0]);
    const variables = [...(row?.keyVariables ?? []), ...(row?.credentialVariables ?? [])];
    const model = await parts.model(name, env).catch((error: unknown): ModelError => {
      if (error instanceof TreadleError) return definitionError(error);
      throw error;
    });
    models.push({ name, model, variables, versionless: row === undefined ? null : versionlessUrl(row, env) });
  }
  return models;
}

/** The address of a server that speaks OpenAI's words, where nothing in it looks like a version. */
function versionlessUrl(row: Deployment, env: CommandContext['io']['env']): string | null {
  if (!row.protocol.name.startsWith('openai-')) return null;
  try {
    const url = deploymentBaseUrl(row, { env });
    return /\/v\d/.test(url.pathname) ? null : publicUrl(url.href);
  } catch {
    // Why there is no address is said where the model is made.
    return null;
  }
}

async function conformanceOf({ name, model }: NamedModel, limits: ProbeLimits): Promise<ConformanceResult> {
  if (!isModel(model)) {
    return { model: name, findings: [{ probe: 'streaming', outcome: 'fail', detail: model.message }] };
  }
  return { model: name, findings: await conformance(model, limits, () => contextLength(name, limits)) };
}
