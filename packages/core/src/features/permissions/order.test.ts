import { golden, type Golden, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import {
  createSession,
  defineAgent,
  defineTool,
  type AgentDefinition,
  type PermissionOptions,
  type RunResult,
} from '../../index.ts';

const remove = defineTool({
  name: 'remove',
  description: 'Removes a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  access: ({ path }) => ({ folder: '/work', paths: [{ path: `/work/${path}`, write: true }] }),
  execute: ({ path }) => `removed ${path}`,
});

const CALLS = [{ toolCalls: [{ name: 'remove', arguments: { path: 'a.txt' } }] }, 'Done.'];

interface Played {
  readonly golden: Golden;
  readonly result: RunResult;
}

async function play(permissions: PermissionOptions, more: Partial<AgentDefinition> = {}): Promise<Played> {
  const transcript = golden();
  const agent = defineAgent({ model: scriptedModel(CALLS), tools: [remove], permissions, ...more });
  const session = await createSession(agent, { id: 's' });
  session.subscribe(transcript.observe);
  const result = await session.prompt('Tidy up.').result;
  return { golden: transcript, result };
}

/** The transcript from the model's call on. */
const fromCall = ({ golden: transcript }: Played): string => {
  const lines = transcript.text().split('\n');
  return lines
    .slice(lines.findIndex((line) => line.includes('calls remove')))
    .map((line) => line.replace(/^ {1,4}/, ''))
    .join('\n');
};

describe('The transcript of a call', () => {
  it('that a rule allows', async () => {
    const played = await play({ allow: ['remove(*.txt)'] });
    expect(fromCall(played)).toMatchInlineSnapshot(`
      "message_added assistant (tool_use) calls remove
      decision_made permission permission {"outcome":"allow","by":{"type":"rule","behavior":"allow","rule":"remove(*.txt)","source":"agent"},"reason":"The rule remove(*.txt) allows it"}
      tool_started remove {"path":"a.txt"}
      tool_ended remove "removed a.txt"
      turn_ended
      turn_started 1 by continuation
      message_added assistant (stop) "Done."
      turn_ended
      run_ended completed"
    `);
  });

  it('that a callback allows', async () => {
    const played = await play({ canUseTool: () => ({ behavior: 'allow' }) });
    expect(fromCall(played)).toMatchInlineSnapshot(`
      "message_added assistant (tool_use) calls remove
      decision_made permission permission {"outcome":"allow","by":{"type":"callback"},"reason":"It was allowed when asked"}
      tool_started remove {"path":"a.txt"}
      tool_ended remove "removed a.txt"
      turn_ended
      turn_started 1 by continuation
      message_added assistant (stop) "Done."
      turn_ended
      run_ended completed"
    `);
  });

  it('that a callback rewrites', async () => {
    const played = await play({ canUseTool: () => ({ behavior: 'allow', updatedInput: { path: 'b.txt' } }) });
    expect(fromCall(played)).toMatchInlineSnapshot(`
      "message_added assistant (tool_use) calls remove
      decision_made permission permission {"outcome":"allow","by":{"type":"callback"},"reason":"It was allowed when asked","arguments":{"path":"b.txt"}}
      tool_started remove {"path":"b.txt"}
      tool_ended remove "removed b.txt"
      turn_ended
      turn_started 1 by continuation
      message_added assistant (stop) "Done."
      turn_ended
      run_ended completed"
    `);
  });

  it('that a callback denies', async () => {
    const played = await play({ canUseTool: () => ({ behavior: 'deny', message: 'I need that file.' }) });
    expect(fromCall(played)).toMatchInlineSnapshot(`
      "message_added assistant (tool_use) calls remove
      decision_made permission permission {"outcome":"deny","by":{"type":"callback"},"reason":"I need that file."}
      tool_call_rejected remove (denied) "Permission denied: remove was not run. I need that file. Don't look for a way around. Go on without it, or say what you would have done."
      turn_ended
      turn_started 1 by continuation
      message_added assistant (stop) "Done."
      turn_ended
      run_ended completed"
    `);
    expect(played.result.permissionDenials[0]).toMatchInlineSnapshot(
      { callId: expect.any(String) },
      `
      {
        "arguments": {
          "path": "a.txt",
        },
        "by": "callback",
        "callId": Any<String>,
        "reason": "Permission denied: remove was not run. I need that file. Don't look for a way around. Go on without it, or say what you would have done.",
        "toolName": "remove",
      }
    `,
    );
  });

  it('that a callback denies, and ends the run', async () => {
    const canUseTool = (): { behavior: 'deny'; message: string; interrupt: boolean } => ({
      behavior: 'deny',
      message: 'Stop right there.',
      interrupt: true,
    });
    const both = { toolCalls: ['a.txt', 'b.txt'].map((path) => ({ name: 'remove', arguments: { path } })) };
    const played = await play(
      { canUseTool },
      { model: scriptedModel([both, 'Done.']), toolExecution: { mode: 'sequential' } },
    );
    expect(fromCall(played)).toMatchInlineSnapshot(`
      "message_added assistant (tool_use) calls remove, calls remove
      decision_made permission permission {"outcome":"deny","by":{"type":"callback"},"reason":"Stop right there.","interrupt":true}
      tool_call_rejected remove (denied) "Permission denied: remove was not run. Stop right there. Don't look for a way around. Go on without it, or say what you would have done."
      tool_call_rejected remove (cancelled) "Not executed: Stop right there."
      turn_ended
      run_ended stopped "Stop right there.""
    `);
  });

  it('that a rule denies, and nobody is asked', async () => {
    const played = await play({ deny: ['remove(a.*)'], allow: ['remove'], mode: 'bypass', allowBypass: true });
    expect(fromCall(played)).toMatchInlineSnapshot(`
      "message_added assistant (tool_use) calls remove
      decision_made permission permission {"outcome":"deny","by":{"type":"rule","behavior":"deny","rule":"remove(a.*)","source":"agent"},"reason":"The rule remove(a.*) denies it"}
      tool_call_rejected remove (denied) "Permission denied: remove was not run. The rule remove(a.*) denies it. Don't look for a way around. Go on without it, or say what you would have done."
      turn_ended
      turn_started 1 by continuation
      message_added assistant (stop) "Done."
      turn_ended
      run_ended completed"
    `);
  });

  it('that hooks look at first: the one before the tool, then the one before asking', async () => {
    const transcript = golden();
    const hooks = [
      transcript.hook('before_tool', () => ({ decision: 'ask', reason: 'The hook wonders' })),
      transcript.hook('permission_request'),
    ];
    const agent = defineAgent({
      model: scriptedModel(CALLS),
      tools: [remove],
      hooks,
      permissions: { allow: ['remove'], canUseTool: () => ({ behavior: 'allow' }) },
    });
    const session = await createSession(agent, { id: 's' });
    session.subscribe(transcript.observe);
    const result = await session.prompt('Tidy up.').result;
    expect(fromCall({ golden: transcript, result })).toMatchInlineSnapshot(`
      "message_added assistant (tool_use) calls remove
      * before_tool remove
      decision_made hook before_tool {"decision":"ask","reason":"The hook wonders"}
      * permission_request remove
      decision_made permission permission {"outcome":"allow","by":{"type":"callback"},"reason":"It was allowed when asked"}
      tool_started remove {"path":"a.txt"}
      tool_ended remove "removed a.txt"
      turn_ended
      turn_started 1 by continuation
      message_added assistant (stop) "Done."
      turn_ended
      run_ended completed"
    `);
  });

  it('that a person is asked about, in another process and on another day', async () => {
    const transcript = golden();
    const agent = defineAgent({ model: scriptedModel(CALLS), tools: [remove] });
    const session = await createSession(agent, { id: 's' });
    session.subscribe(transcript.observe);
    const paused = await session.prompt('Tidy up.').result;
    const result = await session.approve(paused.pending[0]?.approvalId ?? '').result;
    expect(fromCall({ golden: transcript, result })).toMatchInlineSnapshot(`
      "message_added assistant (tool_use) calls remove
      approval_requested remove {"path":"a.txt"}
      run_paused approval remove
      approval_answered approve
      decision_made permission permission {"outcome":"allow","by":{"type":"person"},"reason":"It was allowed when asked"}
      tool_started remove {"path":"a.txt"}
      tool_ended remove "removed a.txt"
      turn_ended
      turn_started 1 by continuation
      message_added assistant (stop) "Done."
      turn_ended
      run_ended completed"
    `);
  });
});
