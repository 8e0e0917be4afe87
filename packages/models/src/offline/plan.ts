import type { ModelRequest } from '@treadle/core';
import { answerText, failedText, helpText, skippedText, unfinishedText } from './answer.ts';
import { requestsOf, type UserRequest } from './conversation.ts';
import { createScript } from './intents/write.ts';
import { dataScript } from './intents/data.ts';
import { editScript } from './intents/change.ts';
import { changes, type Job, type Reading } from './jobs.ts';
import { continuesWith } from './language/ellipsis.ts';
import { folderOf, readRequest, requestClauses } from './language/request.ts';
import { JobStopped, replay, type Action, type Finding, type Room, type Script, type Step } from './script.ts';

/** What the model does next: call tools, or answer. */
export type Decision =
  { readonly kind: 'call'; readonly action: Action } | { readonly kind: 'answer'; readonly text: string };

/** A task read from the conversation: its jobs, and the turns made for it so far. */
interface Task {
  readonly jobs: readonly Job[];
  readonly steps: readonly Step[];
  /** The index of its first request. */
  readonly first: number;
  /** The last jobs that were understood, these or earlier ones: what `the same` and `it` mean. */
  readonly known: readonly Job[];
}

const ADDS = /^\s*(?:(?:and|oh|please|ok|okay),? )*(?:also|and|then|next|finally|after that|afterwards|in addition)\b/i;

/**
 * Decides from the messages alone: reads the newest request and goes through its jobs again with all the results so far,
 * up to the first thing that isn't known yet.
 */
export function decide(request: ModelRequest, provider: string): Decision {
  const requests = requestsOf(request.messages, provider);
  const task = taskAt(requests, requests.length - 1);
  if (task === undefined || task.jobs.every((job) => job.kind === 'unclear'))
    return { kind: 'answer', text: helpText(task?.jobs ?? []) };
  const tools = new Set(request.tools.map((tool) => tool.name));
  const findings = refersBack(task.jobs) ? findingsBefore(requests, task.first, tools) : [];
  const outcome = replay(workOn(task.jobs, { tools, findings, read: new Map() }), task.steps);
  if (outcome.done) return { kind: 'answer', text: answerText(outcome.value.parts) };
  if (request.toolChoice === 'none') return { kind: 'answer', text: unfinishedText(outcome.action) };
  return { kind: 'call', action: outcome.action };
}

/** The jobs of the request at `index`; an addition in the middle of a run continues the one before it. */
function taskAt(requests: readonly UserRequest[], index: number): Task | undefined {
  const request = requests[index];
  if (request === undefined) return undefined;
  const before = taskAt(requests, index - 1);
  const open = before !== undefined && requests[index - 1]?.answered === false && request.steering ? before : undefined;
  const jobs = jobsOf(request.text, before?.known ?? []);
  const understood = jobs.filter((job) => job.kind !== 'unclear');
  const unclear = understood.length === 0;
  const known = unclear ? (before?.known ?? []) : understood;
  // Half of a job is left undone by nothing but another job.
  if (open !== undefined && (unclear || ADDS.test(request.text))) {
    return { jobs: [...open.jobs, ...jobs], steps: [...open.steps, ...request.steps], first: open.first, known };
  }
  return { jobs, steps: request.steps, first: index, known };
}

function jobsOf(text: string, before: readonly Job[]): readonly Job[] {
  const last = before.at(-1);
  const reading: Reading = { folder: last === undefined ? undefined : folderOf(last), earlier: last !== undefined };
  const clauses = requestClauses(text);
  const [only] = clauses;
  if (clauses.length === 1 && only !== undefined) {
    const continued = continuesWith(text, only, before, reading);
    if (continued !== undefined) return continued;
  }
  return readRequest(text, reading);
}

function refersBack(jobs: readonly Job[]): boolean {
  return jobs.some((job) => {
    if (job.kind === 'create')
      return job.content.from === 'earlier' || (job.content.from === 'job' && refersBack([job.content.job]));
    return (job.kind === 'figures' || job.kind === 'edit') && job.target.by === 'reference';
  });
}

/** What the task before this one found, by going through it again. */
function findingsBefore(
  requests: readonly UserRequest[],
  first: number,
  tools: ReadonlySet<string>,
): readonly Finding[] {
  const task = taskAt(requests, first - 1);
  if (task === undefined) return [];
  const findings = refersBack(task.jobs) ? findingsBefore(requests, task.first, tools) : [];
  const outcome = replay(workOn(task.jobs, { tools, findings, read: new Map() }), task.steps);
  const found = outcome.done ? outcome.value.findings : findings;
  return found.length > 0 ? found : findingsBefore(requests, task.first, tools);
}

interface Work {
  /** What to say about each job, in order. */
  readonly parts: readonly string[];
  readonly findings: readonly Finding[];
}

/** All jobs, one after the other. What can change something is left out after a failure: it was to come after a success. */
function* workOn(jobs: readonly Job[], room: Room): Script<Work> {
  const findings = [...room.findings];
  const parts: string[] = [];
  let failed = false;
  for (const job of jobs) {
    if (job.kind === 'unclear') {
      parts.push(skippedText(job.text, 'unclear'));
      failed = true;
      continue;
    }
    if (failed && changes(job)) {
      parts.push(skippedText(titleOf(job), 'after a failure'));
      continue;
    }
    const finding = yield* attempt(job, { ...room, findings });
    if (typeof finding === 'string') {
      parts.push(failedText(finding));
      failed = true;
    } else {
      parts.push(finding.text);
      findings.push(finding);
    }
  }
  return { parts, findings };
}

function* attempt(job: Exclude<Job, { kind: 'unclear' }>, room: Room): Script<Finding | string> {
  try {
    if (job.kind === 'create') return yield* createScript(job, room);
    if (job.kind === 'edit') return yield* editScript(job, room);
    return yield* dataScript(job, room);
  } catch (thrown) {
    if (thrown instanceof JobStopped) return thrown.message;
    throw thrown;
  }
}

function titleOf(job: Job): string {
  if (job.kind === 'create') return `creating ${job.path}`;
  if (job.kind === 'run') return `running \`${job.command}\``;
  return 'changing text';
}
