import type { ConformanceResult, Finding } from './conformance.ts';
import type { DeploymentReport, MachineReport } from './machine.ts';
import type { ProbeResult } from './probe.ts';
import { exposureText } from '../asking/keys.ts';
import { columns } from '../output/columns.ts';
import { plainLine } from '../asking/plain-text.ts';
import { filesText } from '../run/project-instructions.ts';

/** Characters of a server's own words on one line. */
const LONGEST = 400;

/** What there is, as text for a person. */
export function machineLines(report: MachineReport): string {
  const { sessions, programs } = report;
  const proxies = Object.entries(report.proxies).map(([name, value]) => `${name}=${plainLine(value, LONGEST)}`);
  const rows = [
    ['treadle', report.version],
    ['Node', `${report.node} (${report.platform})`],
    [
      'sessions',
      `${plainLine(sessions.path)} · ${sessions.problem === null ? 'writable' : `not writable: ${plainLine(sessions.problem)}`}`,
    ],
    ...(report.database ? [['database', databaseText(report.database)]] : []),
    ['bash', programs.bash === null ? 'not found: the bash tool uses sh' : plainLine(programs.bash)],
    ['ripgrep', programs.ripgrep === null ? 'not found: the search tool is slower' : plainLine(programs.ripgrep)],
    ['instructions', report.instructions.files.length === 0 ? 'none' : filesText(report.instructions.files)],
    ...report.instructions.warnings.map((warning) => ['', plainLine(warning, LONGEST)]),
    ['sandbox', sandboxText(report.sandbox)],
    ['keys', keysText(report.keys)],
    ['proxies', proxies.length === 0 ? 'none' : proxies.join(', ')],
  ];
  return `${columns(rows)}\n${columns(report.deployments.map(deploymentRow))}`;
}

function databaseText({ version, isPooled, problem }: NonNullable<MachineReport['database']>): string {
  if (problem !== null) return `doesn't answer: ${plainLine(problem, LONGEST)}`;
  const noticed = isPooled
    ? 'behind a pooler: the lease of 10 s alone decides that a server died, and live text may not come'
    : 'direct: a server that died is noticed by its connection, within a second';
  return `Postgres ${plainLine(version ?? '')} · ${noticed}`;
}

function sandboxText({ works, reason, program, reading }: MachineReport['sandbox']): string {
  if (!works) return `doesn't work: every command asks · ${plainLine(reason ?? '', LONGEST)}`;
  const unasked = reading.works
    ? 'commands that only read run unasked'
    : `every command asks · ${plainLine(reading.reason ?? '', LONGEST)}`;
  return `works (${plainLine(program ?? '')}): ${unasked}`;
}

function keysText(keys: MachineReport['keys']): string {
  if (keys.variables.length === 0) return 'none in the environment';
  const exposure = exposureText(keys);
  if (exposure === null) return `${keys.variables.join(', ')} · not shown to commands`;
  return `${keys.variables.join(', ')} · of a command without a sandbox: ${plainLine(exposure, LONGEST)}`;
}

const CREDENTIALS: Readonly<Record<Exclude<DeploymentReport['credentials'], 'present'>, string>> = {
  missing: 'no key',
  not_needed: 'no key needed',
  looked_up: 'looked up on use',
};

function deploymentRow(row: DeploymentReport): string[] {
  const { credentials, variable, keyVariables } = row;
  const address = plainLine(row.baseUrl ?? row.baseUrlProblem ?? '', LONGEST);
  if (credentials === 'present') return [row.name, `key in ${variable}`, address];
  // What may be long stands last, so that the columns fit a narrow terminal.
  return [row.name, CREDENTIALS[credentials], `${address} (${keyVariables.join(', ')})`];
}

export function probeLines({ model, ms, error, findings }: ProbeResult): string {
  if (error === null) return `${plainLine(model)}: ok · ${ms} ms\n${findingLines(findings)}`;
  const facts = [error.kind, error.status, error.code].filter((fact) => fact !== undefined).join(' · ');
  const message = plainLine(error.message, LONGEST);
  return `${plainLine(model)}: failed · ${plainLine(facts)}\n  ${message}\n  ${error.advice}\n`;
}

export const conformanceLines = ({ model, findings }: ConformanceResult): string =>
  `${plainLine(model)}\n${findingLines(findings)}`;

const findingLines = (findings: readonly Finding[]): string =>
  columns(findings.map(({ probe, outcome, detail }) => [`  ${probe}`, outcome, plainLine(detail, LONGEST)]));
