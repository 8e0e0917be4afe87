import {
  asTool,
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  type Hook,
  type HookEvent,
  type Tool,
  type TreadleEvent,
} from '@treadle/core';
import { logOf, scriptedModel, testClock } from '@treadle/testing';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commandHook } from './command-hook.ts';
import { hooksFromSettings } from './settings.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'treadle-hooks-')));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const ran: unknown[] = [];
const bash = defineTool({
  name: 'bash',
  description: 'Runs a command.',
  inputSchema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  execute({ command }) {
    ran.push(command);
    if (command === 'fail') throw new Error('exit 1');
    return `ran ${command}`;
  },
});

/** The same, which somebody has to allow. */
const guarded: Tool = { ...bash, access: () => ({ readOnly: false }) };

interface Played {
  readonly status: string;
  readonly message: string | null;
  readonly events: readonly TreadleEvent[];
  readonly rejected: readonly string[];
  readonly warnings: readonly string[];
  readonly told: readonly string[];
}

async function play(hooks: readonly Hook[], command = 'ls', tool: Tool = bash): Promise<Played> {
  ran.length = 0;
  const model = scriptedModel([{ toolCalls: [{ name: 'bash', arguments: { command } }] }, 'Done.']);
  const session = await createSession(defineAgent({ model, tools: [tool], hooks }));
  const events: TreadleEvent[] = [];
  session.subscribe((event) => events.push(event));
  const { status, message } = await session.prompt('Go.').result;
  await session.close();
  return {
    status,
    message,
    events,
    rejected: events.flatMap((event) =>
      event.type === 'tool_call_rejected' && event.content[0]?.type === 'text' ? [event.content[0].text] : [],
    ),
    warnings: events.flatMap((event) => (event.type === 'warning' ? [event.message] : [])),
    told: (model.requests.at(-1)?.messages ?? []).flatMap((sent) =>
      sent.role === 'user' && sent.origin === 'hook' && sent.content[0]?.type === 'text' ? [sent.content[0].text] : [],
    ),
  };
}

const hook = (event: HookEvent, command: string): Hook => commandHook(event, { command, folder });

const saying = (value: unknown): string => `cat >/dev/null; printf '%s' '${JSON.stringify(value)}'`;

describe('a shell command as a before_tool hook', () => {
  it('is told of the call on its standard input, and goes on with exit code 0', async () => {
    await play([hook('before_tool', 'cat > told.json')]);
    expect(ran).toEqual(['ls']);
    expect(JSON.parse(readFileSync(join(folder, 'told.json'), 'utf8'))).toMatchObject({
      hook_event_name: 'PreToolUse',
      cwd: folder,
      transcript_path: expect.stringContaining('transcript.jsonl'),
      session_id: expect.stringMatching(/^session_/),
      tool_name: 'bash',
      tool_input: { command: 'ls' },
      tool_use_id: expect.stringMatching(/^call_/),
    });
  });

  it('says no with exit code 2, and its standard error is the reason', async () => {
    const { rejected } = await play([hook('before_tool', 'echo "Not on a Friday." >&2; exit 2')]);
    expect(ran).toEqual([]);
    expect(rejected).toEqual(['Not executed: Not on a Friday.']);
  });

  it.each([
    ['crashes', 'exit 1', /exited with 1/],
    ['is killed', 'kill -9 $$', /SIGKILL/],
    ['is missing', './no-such-check', /exited with 127/],
    ['prints garbage', 'echo hello', /not JSON/],
    ['prints half an answer', `printf '{"decision": "blo'`, /doesn't parse/],
    ['decides nonsense', saying({ decision: 'perhaps' }), /no decision/],
    ['permits nonsense', saying({ hookSpecificOutput: { permissionDecision: 'yes' } }), /no decision/],
    ['rewrites to nonsense', saying({ hookSpecificOutput: { updatedInput: 'rm' } }), /must be an object/],
    ['prints without end', 'yes', /printed more than/],
  ])('H1: that %s denies', async (_, command, why) => {
    const { rejected, warnings } = await play([hook('before_tool', command)]);
    expect(ran).toEqual([]);
    expect(rejected[0]).toMatch(why);
    expect(warnings[0]).toMatch(why);
  });

  it.each([
    ['crashes', 'exit 1', /exited with 1/],
    ['is killed', 'kill -9 $$', /SIGKILL/],
    ['is missing', './no-such-check', /exited with 127/],
    ['prints garbage', 'echo hello', /not JSON/],
  ])('H2: that %s denies the calls of a sub-agent as well', async (_, command, why) => {
    ran.length = 0;
    const journal = memoryJournal();
    const worker = defineAgent({
      id: 'worker',
      model: scriptedModel([{ toolCalls: [{ name: 'bash', arguments: { command: 'ls' } }] }, 'It was not to be.']),
      tools: [bash],
    });
    const boss = defineAgent({
      model: scriptedModel([{ toolCalls: [{ name: 'worker', arguments: { prompt: 'Go.' } }] }, 'Done.']),
      tools: [asTool(worker, { description: 'Works.' })],
      hooks: [commandHook('before_tool', { command, folder, matcher: 'bash' })],
    });
    const session = await createSession(boss, { journal, id: 's' });
    expect((await session.prompt('Go.').result).status).toBe('completed');
    expect(ran).toEqual([]);
    const child = (await logOf(journal, 's')).flatMap((event) =>
      event.type === 'tool_started' ? (event.childSessionId ?? []) : [],
    );
    expect(child).toHaveLength(1);
    const rejected = (await logOf(journal, child[0] ?? '')).filter(({ type }) => type === 'tool_call_rejected');
    expect(rejected).toHaveLength(1);
    expect(JSON.stringify(rejected)).toMatch(why);
  });

  it("H1: that hangs denies when its time is up, and it doesn't outlive that", async () => {
    const clock = testClock();
    const slow = commandHook('before_tool', { command: 'echo $$ > pid; sleep 1000', folder, timeoutMs: 3000 });
    const model = scriptedModel([{ toolCalls: [{ name: 'bash', arguments: { command: 'ls' } }] }, 'Done.']);
    const session = await createSession(defineAgent({ model, tools: [bash], hooks: [slow] }), { clock });
    ran.length = 0;
    const { result } = session.prompt('Go.');
    const pid = await firstLine(join(folder, 'pid'));
    await clock.advance(3000);
    expect((await result).status).toBe('completed');
    expect(ran).toEqual([]);
    await gone(Number(pid));
  });

  it('decides in JSON: deny, allow, rewrite, end the run', async () => {
    const decide = (specific: unknown): string => saying({ hookSpecificOutput: specific });
    const denied = await play([
      hook('before_tool', decide({ permissionDecision: 'deny', permissionDecisionReason: 'No.' })),
    ]);
    expect([ran.slice(), denied.rejected]).toEqual([[], ['Not executed: No.']]);
    await play([hook('before_tool', decide({ permissionDecision: 'allow', updatedInput: { command: 'pwd' } }))]);
    expect(ran).toEqual(['pwd']);
    const ended = await play([hook('before_tool', saying({ continue: false, stopReason: 'Enough.' }))]);
    expect([ended.status, ended.message]).toEqual(['stopped', 'Enough.']);
  });

  it('keeps secrets of the environment to itself', async () => {
    const command = 'env > told.txt';
    await play([
      commandHook('before_tool', { command, folder, environment: { PATH: process.env['PATH'], API_KEY: 'k', A: '1' } }),
    ]);
    const told = readFileSync(join(folder, 'told.txt'), 'utf8');
    expect(told).toContain('A=1');
    expect(told).toContain(`TREADLE_PROJECT_DIR=${folder}`);
    expect(told).not.toContain('API_KEY');
  });
});

describe('a shell command as another hook', () => {
  it('adds what it prints to a prompt, and context to a result', async () => {
    const { told } = await play([
      hook('session_start', 'echo "The branch is main."'),
      hook('user_prompt_submit', 'echo "It is Monday."'),
      hook('after_tool', saying({ hookSpecificOutput: { additionalContext: 'The folder is shared.' } })),
    ]);
    expect(told).toEqual(['The branch is main.', 'It is Monday.', 'The folder is shared.']);
  });

  it('blocks a prompt', async () => {
    const { status, message } = await play([
      hook('user_prompt_submit', saying({ decision: 'block', reason: 'No pasting.' })),
    ]);
    expect([status, message]).toEqual(['rejected', 'No pasting.']);
  });

  it('objects to a call that has run: the model is told', async () => {
    const { told } = await play([hook('after_tool', 'echo "Format it." >&2; exit 2')]);
    expect(ran).toEqual(['ls']);
    expect(told).toEqual(['Format it.']);
  });

  it('hears of failures with the error', async () => {
    await play([hook('tool_failed', 'cat > told.json')], 'fail');
    expect(JSON.parse(readFileSync(join(folder, 'told.json'), 'utf8'))).toMatchObject({
      hook_event_name: 'PostToolUseFailure',
      error: 'bash failed: exit 1',
    });
  });

  it('hears of success as PostToolUse, and of failure as PostToolUseFailure only', async () => {
    const hooks = [hook('after_tool', 'cat >> told.txt'), hook('tool_failed', 'cat >> told.txt')];
    const events = (): string[] => readFileSync(join(folder, 'told.txt'), 'utf8').match(/PostToolUse\w*/g) ?? [];
    await play(hooks);
    expect(events()).toEqual(['PostToolUse']);
    await play(hooks, 'fail');
    expect(events()).toEqual(['PostToolUse', 'PostToolUseFailure']);
  });

  it('answers a question of permission in the shape of the SDK', async () => {
    const answering = (decision: object): Hook =>
      hook('permission_request', saying({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } }));
    await play([answering({ behavior: 'allow', updatedInput: { command: 'pwd' } })], 'ls', guarded);
    expect(ran).toEqual(['pwd']);
    const denied = await play([answering({ behavior: 'deny', message: 'Not today.' })], 'ls', guarded);
    expect(ran).toEqual([]);
    expect(denied.rejected[0]).toContain('Not today.');
    const ended = await play([answering({ behavior: 'deny', message: 'Stop it.', interrupt: true })], 'ls', guarded);
    expect([ended.status, ended.message]).toEqual(['stopped', 'Stop it.']);
    const unclear = await play([answering({ behavior: 'maybe' })], 'ls', guarded);
    expect(unclear.rejected[0]).toContain('no decision');
  });

  it('allows a call as PreToolUse, so that nobody is asked', async () => {
    await play([hook('before_tool', saying({ hookSpecificOutput: { permissionDecision: 'allow' } }))], 'ls', guarded);
    expect(ran).toEqual(['ls']);
  });

  it('finds the conversation in a file of its own, and the permission mode', async () => {
    const command =
      'cat > told.json; path=$(sed -E \'s/.*"transcript_path":"([^"]+)".*/\\1/\' told.json); cp "$path" copy.jsonl; echo "$path" > path';
    await play([hook('stop', command)]);
    expect(JSON.parse(readFileSync(join(folder, 'told.json'), 'utf8'))).toMatchObject({ permission_mode: 'default' });
    const lines = readFileSync(join(folder, 'copy.jsonl'), 'utf8').trim().split('\n');
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  it('finds one file for a session, to which only new messages are added', async () => {
    const path = `path=$(sed -E 's/.*"transcript_path":"([^"]+)".*/\\1/')`;
    const look = `${path}; echo "$path $(stat -c %i "$path") $(wc -l < "$path")" >> seen`;
    await play([hook('before_tool', look), hook('stop', look)]);
    const [before, after] = readFileSync(join(folder, 'seen'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
    expect(before?.[2]).toBe('2');
    expect(after).toEqual([before?.[0], before?.[1], '4']);
  });

  it('finds the conversation of a sub-agent that stops', async () => {
    const worker = defineAgent({ id: 'worker', model: scriptedModel(['Worked.']) });
    const boss = defineAgent({
      model: scriptedModel([{ toolCalls: [{ name: 'worker', arguments: { prompt: 'Work.' } }] }, 'Done.']),
      tools: [asTool(worker, { description: 'Works.' })],
      hooks: [hook('subagent_stop', 'cp "$(sed -E \'s/.*"agent_transcript_path":"([^"]+)".*/\\1/\')" copy.jsonl')],
    });
    const session = await createSession(boss);
    expect((await session.prompt('Go.').result).status).toBe('completed');
    expect(readFileSync(join(folder, 'copy.jsonl'), 'utf8')).toContain('Worked.');
  });

  it('keeps a run going, once, by what it is told of itself', async () => {
    const command = `grep -q '"stop_hook_active":true' || { echo "Check again." >&2; exit 2; }`;
    const model = scriptedModel(['Done.', 'Checked.']);
    const session = await createSession(defineAgent({ model, hooks: [hook('stop', command)] }));
    expect((await session.prompt('Go.').result).text).toBe('Checked.');
  });

  it('H3: that fails where nothing is at stake is a warning', async () => {
    const { status, warnings } = await play([hook('after_turn', 'exit 3')]);
    expect(status).toBe('completed');
    expect(warnings[0]).toContain('exited with 3');
    expect(ran).toEqual(['ls']);
  });
});

describe('hooks from settings', () => {
  const shared = { folder: '.', source: 'settings.json' };

  it('have an event, a matcher and a timeout in seconds', () => {
    const [before, after] = hooksFromSettings(
      {
        PreToolUse: [{ matcher: 'bash|edit', hooks: [{ type: 'command', command: 'true', timeout: 5 }] }],
        after_turn: [{ hooks: [{ type: 'command', command: 'true', async: true }] }],
      },
      shared,
    );
    expect(before).toMatchObject({ event: 'before_tool', timeoutMs: 5000, background: false });
    expect(before?.matcher?.test('edit')).toBe(true);
    expect(after).toMatchObject({ event: 'after_turn', timeoutMs: 60_000, background: true });
  });

  it.each([
    ['[]', [], /settings.json: hooks must be an object/],
    ['an unknown event', { PreToolUze: [] }, /hooks.PreToolUze is no event. Did you mean "PreToolUse"\?/],
    ['an event like no other', { Whenever: [] }, /hooks.Whenever is no event. There are: PreToolUse, /],
    [
      'an unknown key',
      { Stop: [{ matchers: 'x', hooks: [] }] },
      /Stop\[0\].matchers is no .* Did you mean "matcher"\?/,
    ],
    [
      'an unknown key of a command',
      { Stop: [{ hooks: [{ type: 'command', command: 'x', timeoutMs: 5 }] }] },
      /hooks\[0\].timeoutMs is no setting of a hook. Did you mean "timeout"\?/,
    ],
    ['no list', { Stop: {} }, /hooks.Stop must be a list/],
    ['a matcher that is no text', { Stop: [{ matcher: 1, hooks: [] }] }, /hooks.Stop\[0\].matcher must be a text/],
    ['another type', { Stop: [{ hooks: [{ type: 'prompt' }] }] }, /hooks.Stop\[0\].hooks\[0\] must be/],
    ['no command', { Stop: [{ hooks: [{ type: 'command' }] }] }, /hooks\[0\].command must be a text/],
    ['a timeout of 0', { Stop: [{ hooks: [{ type: 'command', command: 'x', timeout: 0 }] }] }, /greater than 0/],
    [
      'a broken matcher',
      { Stop: [{ matcher: '(', hooks: [{ type: 'command', command: 'x' }] }] },
      /regular expression/,
    ],
  ])('with %s are refused, and say where', (_, settings, why) => {
    expect(() => hooksFromSettings(settings, shared)).toThrow(why);
  });
});

/** The first line of a file that another process is about to write. */
async function firstLine(path: string): Promise<string> {
  for (;;) {
    try {
      const [line, ...rest] = readFileSync(path, 'utf8').split('\n');
      if (line !== undefined && rest.length > 0) return line;
    } catch {
      // Not there yet.
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Resolves when the process is gone; the test's own time limit is the alternative. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
