// An agent that makes the commands of a job, each a call of `bash` that nobody answers for: `node agent.ts JOB`. The job is a
// JSON file; what came of each command is printed as JSON.

import { createSession, defineAgent, type PermissionMode, type Tool } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { bashTool, type SandboxMode } from '@treadle/tools';
import { readFileSync } from 'node:fs';

export interface Job {
  readonly root: string;
  readonly mode: PermissionMode;
  readonly allow?: readonly string[];
  readonly sandbox?: SandboxMode;
  /** Milliseconds after which a command is ended. */
  readonly timeoutMs?: number;
  /** The `PATH` of commands. */
  readonly path: string;
  readonly commands: readonly string[];
}

export interface Result {
  readonly command: string;
  /** `ran`: without a question. `refused`: by the mode, without a question. */
  readonly outcome: 'ran' | 'asked' | 'refused';
  /** What a command that ran printed, and why one that did not was asked for. */
  readonly text: string;
}

/** A run in which one turn after the other is refused ends early, so each has a session of its own. */
const callsPerSession = 50;

async function play(job: Job): Promise<Result[]> {
  const results: Result[] = [];
  const bash = bashTool({
    root: job.root,
    env: { PATH: job.path, LANG: 'C.UTF-8', TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat' },
    ...(job.sandbox && { sandbox: job.sandbox }),
    ...(job.timeoutMs !== undefined && { timeoutMs: job.timeoutMs }),
  });
  for (let at = 0; at < job.commands.length; at += callsPerSession) {
    results.push(...(await callAll(job, bash, job.commands.slice(at, at + callsPerSession))));
  }
  return results;
}

async function callAll(job: Job, bash: Tool, commands: readonly string[]): Promise<Result[]> {
  const reasons = new Map<string, string>();
  const toolCalls = commands.map((command) => ({ name: 'bash', arguments: { command } }));
  const agent = defineAgent({
    model: scriptedModel([{ toolCalls }, 'Done.']),
    tools: [bash],
    permissions: {
      mode: job.mode,
      allow: job.allow ?? [],
      canUseTool(_tool, _input, { callId, reason }) {
        reasons.set(callId, reason);
        return { behavior: 'deny', message: 'No.' };
      },
    },
  });
  const session = await createSession(agent);
  const texts = new Map<string, string>();
  const results: Result[] = [];
  for await (const event of session.prompt('Go.')) {
    if (event.type === 'message_added' && event.message.role === 'assistant') {
      for (const block of event.message.content) {
        if (block.type === 'tool_call') texts.set(block.callId, JSON.stringify(block.arguments['command']));
      }
    }
    if (event.type !== 'tool_ended' && event.type !== 'tool_call_rejected') continue;
    const asked = reasons.get(event.callId);
    const outcome = event.type === 'tool_ended' ? 'ran' : asked === undefined ? 'refused' : 'asked';
    const said = event.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    results.push({ command: JSON.parse(texts.get(event.callId) ?? '""') as string, outcome, text: asked ?? said });
  }
  return results;
}

console.log(JSON.stringify(await play(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Job)));
