import { describe, expect, it } from 'vitest';
import { countingIds, scriptedModel, testClock, type Turn } from '@treadle/testing';
import type { HookAnswer } from '../../entries/features.ts';
import type { ModelRequest } from '../../entries/model.ts';
import {
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  memoryJournal,
  openSession,
  type AgentDefinition,
  type Hook,
  type HookEvent,
  type Message,
  type Session,
  type TreadleEvent,
} from '../../index.ts';

const ran: string[] = [];
const bash = defineTool({
  name: 'bash',
  description: 'Runs a command.',
  inputSchema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  execute({ command }) {
    ran.push(command);
    return `ran ${command}`;
  },
});

const runs = (command: string): Turn => ({ toolCalls: [{ name: 'bash', arguments: { command } }] });

interface Setup {
  readonly session: Session;
  readonly requests: readonly ModelRequest[];
  readonly events: TreadleEvent[];
}

async function setUp(
  turns: readonly (Turn | string)[],
  hooks: readonly Hook[],
  more: Partial<AgentDefinition> & { readonly clock?: ReturnType<typeof testClock> } = {},
): Promise<Setup> {
  ran.length = 0;
  const model = scriptedModel(turns);
  const { requests } = model;
  const { clock, ...definition } = more;
  const session = await createSession(
    defineAgent({ model, tools: [bash], hooks, ...definition }),
    clock ? { clock } : {},
  );
  const events: TreadleEvent[] = [];
  session.subscribe((event) => events.push(event));
  return { session, requests, events };
}

const warnings = (events: readonly TreadleEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'warning' ? [`${event.code}: ${event.message}`] : []));

const rejections = (events: readonly TreadleEvent[]): string[] =>
  events.flatMap((event) =>
    event.type === 'tool_call_rejected' && event.content[0]?.type === 'text' ? [event.content[0].text] : [],
  );

describe('a gate', () => {
  it.each<[string, () => HookAnswer | Promise<HookAnswer>, RegExp]>([
    [
      'crashes',
      () => {
        throw new Error('no database');
      },
      /guard failed: no database/,
    ],
    ['rejects', () => Promise.reject(new Error('no network')), /guard failed: no network/],
    ['answers nonsense', () => 'yes please' as unknown as HookAnswer, /guard answered with something/],
    ['decides nonsense', () => ({ decision: 'maybe' }) as unknown as HookAnswer, /guard answered with something/],
    ['rewrites to nonsense', () => ({ input: 'rm' }) as unknown as HookAnswer, /guard answered with something/],
  ])('H1: that %s denies the call', async (_, answer, why) => {
    const guard = defineHook('before_tool', answer, { name: 'guard' });
    const { session, events } = await setUp([runs('ls'), 'I may not.'], [guard]);
    const { status } = await session.prompt('Go.').result;
    expect(status).toBe('completed');
    expect(ran).toEqual([]);
    expect(rejections(events)[0]).toMatch(why);
    expect(warnings(events)[0]).toMatch(why);
  });

  it('H1: that takes too long denies the call, and is told to stop', async () => {
    const clock = testClock();
    let signal: AbortSignal | undefined;
    const asked = Promise.withResolvers<void>();
    const guard = defineHook(
      'before_tool',
      (_, context) => {
        ({ signal } = context);
        asked.resolve();
        return new Promise<HookAnswer>(() => {});
      },
      { name: 'guard', timeoutMs: 5000 },
    );
    const { session, events } = await setUp([runs('ls'), 'I may not.'], [guard], { clock });
    const { result } = session.prompt('Go.');
    await asked.promise;
    await clock.advance(5000);
    expect((await result).status).toBe('completed');
    expect(ran).toEqual([]);
    expect(signal?.aborted).toBe(true);
    expect(rejections(events)[0]).toContain('guard took more than 5000 ms.');
  });

  it('has 60 seconds unless it says otherwise', () => {
    expect(defineHook('before_tool', () => true).timeoutMs).toBe(60_000);
  });

  it.each<HookEvent>(['user_prompt_submit', 'before_run'])(
    '%s that crashes keeps the run from starting',
    async (event) => {
      const guard = defineHook(event, () => {
        throw new Error('broken');
      });
      const { session, requests } = await setUp(['Hello.'], [guard]);
      expect(await session.prompt('Go.').result).toMatchObject({ status: 'rejected', messages: [] });
      expect(requests).toEqual([]);
      expect(session.messages).toEqual([]);
    },
  );

  it('that refuses a prompt takes with it what hooks had to add to it, and nothing else', async () => {
    const hooks = [
      defineHook('session_start', () => ({ context: 'It is Monday.' })),
      defineHook('user_prompt_submit', ({ prompt }) => ({ context: `About ${prompt}` })),
      defineHook('before_run', ({ runIndex }) => ({ decision: runIndex === 1 ? 'deny' : 'proceed', context: 'Run.' })),
    ];
    const { session, requests } = await setUp(['Hello.'], hooks);
    expect((await session.prompt('one').result).status).toBe('rejected');
    expect((await session.prompt('two').result).status).toBe('completed');
    const told = requests[0]?.messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'text' ? [block.text] : [])),
    );
    expect(told).toEqual(['two', 'It is Monday.', 'About two', 'Run.']);
  });

  it('asks in the order of the list, and the first that denies is the last that is asked', async () => {
    const asked: string[] = [];
    const hook = (name: string, answer: boolean): Hook =>
      defineHook('before_tool', () => {
        asked.push(name);
        return answer;
      });
    const { session } = await setUp([runs('ls'), 'No.'], [hook('a', true), hook('b', false), hook('c', true)]);
    await session.prompt('Go.').result;
    expect(asked).toEqual(['a', 'b']);
    expect(ran).toEqual([]);
  });

  it('is asked only about what its matcher matches whole', async () => {
    const seen: string[] = [];
    const see = (matcher: string): Hook => defineHook('before_tool', () => void seen.push(matcher), { matcher });
    const hooks = [see('bash|edit'), see('ba|edit'), see('.*sh'), see('*'), see('edit')];
    const { session } = await setUp([runs('ls'), 'Done.'], hooks, { knownTools: ['ba', 'edit'] });
    await session.prompt('Go.').result;
    expect(seen).toEqual(['bash|edit', '.*sh', '*']);
  });

  it('refuses a matcher that is no regular expression, and a timeout that makes no sense', () => {
    expect(() => defineHook('before_tool', () => true, { matcher: '(' })).toThrow('not a regular expression');
    expect(() => defineHook('before_tool', () => true, { timeoutMs: 0 })).toThrow('timeoutMs must be greater than 0');
  });

  it('that wants a person to decide pauses the run until one has', async () => {
    const { session, events } = await setUp(
      [runs('ls'), 'No.'],
      [defineHook('before_tool', () => ({ decision: 'ask' }))],
    );
    const { status, pending } = await session.prompt('Go.').result;
    expect([status, ran, rejections(events).length]).toEqual(['paused', [], 0]);
    await session.reject(pending[0]?.approvalId ?? '').result;
    expect([ran, rejections(events).length]).toEqual([[], 1]);
  });
});

describe('a before_tool hook', () => {
  it('rewrites the arguments: hooks after it, the tool and the log have the new ones, the message keeps the old', async () => {
    const seen: unknown[] = [];
    const { session, events } = await setUp(
      [runs('rm -rf /'), 'Done.'],
      [
        defineHook('before_tool', () => ({ input: { command: 'ls' } })),
        defineHook('before_tool', ({ arguments: args }) => void seen.push(args)),
      ],
    );
    const { messages } = await session.prompt('Go.').result;
    expect(ran).toEqual(['ls']);
    expect(seen).toEqual([{ command: 'ls' }]);
    expect(events.find(({ type }) => type === 'tool_started')).toMatchObject({ arguments: { command: 'ls' } });
    expect(messages[1]).toMatchObject({ content: [{ type: 'tool_call', arguments: { command: 'rm -rf /' } }] });
  });

  it("can't rewrite them to what the schema forbids", async () => {
    const { session, events } = await setUp(
      [runs('ls'), 'Done.'],
      [defineHook('before_tool', () => ({ input: { command: 7 } }))],
    );
    await session.prompt('Go.').result;
    expect(ran).toEqual([]);
    expect(rejections(events)[0]).toContain('/command');
  });

  it('ends the run: every call has its result', async () => {
    const model: Turn = { toolCalls: [runs('a'), runs('b')].flatMap(({ toolCalls }) => toolCalls ?? []) };
    const { session, events } = await setUp(
      [model],
      [defineHook('before_tool', ({ arguments: { command } }) => (command === 'b' ? { endRun: 'Enough.' } : true))],
    );
    const result = await session.prompt('Go.').result;
    expect(result).toMatchObject({ status: 'stopped', message: 'Enough.' });
    expect(ran).toEqual([]);
    expect(rejections(events)).toEqual(['Not executed: Enough.', 'Not executed: Enough.']);
  });
});

describe('what a hook adds', () => {
  it('is told to the model before its next call, and to nobody else', async () => {
    const { session, requests } = await setUp(
      [runs('ls'), 'Done.'],
      [
        defineHook('session_start', () => ({ context: 'The branch is main.' })),
        defineHook('user_prompt_submit', () => ({ context: 'It is Monday.' })),
        defineHook('after_tool', () => ({ context: 'The folder is shared.' })),
      ],
    );
    const { messages } = await session.prompt('Go.').result;
    const texts = requests.map((request) =>
      request.messages.flatMap((message) =>
        message.role === 'user' && message.content[0]?.type === 'text' ? [message.content[0].text] : [],
      ),
    );
    expect(texts).toEqual([
      ['Go.', 'The branch is main.', 'It is Monday.'],
      ['Go.', 'The branch is main.', 'It is Monday.', 'The folder is shared.'],
    ]);
    const origins = (of: readonly Message[]) =>
      of.flatMap((message) => (message.role === 'user' ? [message.origin] : []));
    expect(origins(session.messages)).toEqual(['prompt', 'hook', 'hook', 'hook']);
    expect(origins(messages)).toEqual(['prompt']);
  });

  it('replaces a result in the view; the log keeps what the tool said', async () => {
    const { session, requests, events } = await setUp(
      [runs('env'), 'Done.'],
      [defineHook('after_tool', () => ({ output: '[redacted]' }))],
    );
    await session.prompt('Go.').result;
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: [{ text: '[redacted]' }] });
    expect(events.find(({ type }) => type === 'tool_ended')).toMatchObject({ content: [{ text: 'ran env' }] });
  });

  it('is shown to people when it is for them', async () => {
    const { session, events } = await setUp(
      ['Hello.'],
      [defineHook('user_prompt_submit', () => ({ systemMessage: 'Costs are watched.' }))],
    );
    await session.prompt('Go.').result;
    expect(warnings(events)).toEqual(['hook_message: Costs are watched.']);
  });
});

describe('a stop hook', () => {
  it('keeps the run going with a reason, and knows that it has', async () => {
    const active: boolean[] = [];
    const { session, requests } = await setUp(
      ['Done.', 'Now the tests pass.'],
      [
        defineHook('stop', ({ stopHookActive, text }) => {
          active.push(stopHookActive);
          return text.includes('tests') || { decision: 'deny', reason: 'Run the tests first.' };
        }),
      ],
    );
    const result = await session.prompt('Go.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Now the tests pass.', turns: 2 });
    expect(active).toEqual([false, true]);
    expect(requests[1]?.messages.at(-1)).toMatchObject({ origin: 'hook', content: [{ text: 'Run the tests first.' }] });
  });

  it('that never agrees ends at the turn limit', async () => {
    const { session } = await setUp(['1', '2', '3'], [defineHook('stop', () => false)], { limits: { maxTurns: 3 } });
    expect(await session.prompt('Go.').result).toMatchObject({ status: 'turn_limit', turns: 3 });
  });

  it('that crashes lets the run end', async () => {
    const { session, events } = await setUp(
      ['Done.'],
      [
        defineHook('stop', () => {
          throw new Error('broken');
        }),
      ],
    );
    expect((await session.prompt('Go.').result).status).toBe('completed');
    expect(warnings(events)).toEqual(['hook_failed: stop hook failed: broken']);
  });
});

describe('an observer', () => {
  it.each<HookEvent>(['after_run', 'after_turn', 'after_tool', 'session_start', 'session_end'])(
    'H3: %s that fails is a warning, and the run goes on',
    async (event) => {
      const broken = defineHook(event, () => {
        throw new Error('broken');
      });
      const { session, events } = await setUp([runs('ls'), 'Done.'], [broken]);
      expect((await session.prompt('Go.').result).status).toBe('completed');
      await session.close();
      expect(warnings(events)[0]).toContain('broken');
      expect(ran).toEqual(['ls']);
    },
  );

  it('in the background is waited for by nobody, whatever it says', async () => {
    const { session, events } = await setUp(
      [runs('ls'), 'Done.'],
      [
        defineHook('before_tool', () => new Promise<HookAnswer>(() => {}), { background: true }),
        defineHook('before_tool', () => false, { background: true }),
      ],
    );
    expect((await session.prompt('Go.').result).status).toBe('completed');
    expect(ran).toEqual(['ls']);
    expect(warnings(events)).toEqual([]);
  });

  it('hears of a model that failed, and of a run that waits', async () => {
    const heard: unknown[] = [];
    const ask = defineTool({ name: 'ask', description: 'Asks.', inputSchema: { type: 'object' }, runs: 'client' });
    const { session } = await setUp(
      [{ error: { status: 529 } }, { toolCalls: [{ name: 'ask', arguments: {} }] }],
      [
        defineHook('model_error', ({ willRetry, attempt }) => void heard.push({ willRetry, attempt })),
        defineHook('notification', ({ kind, message }) => void heard.push({ kind, message }), {
          matcher: 'client_tools',
        }),
        defineHook('notification', ({ kind }) => void heard.push(kind), { matcher: 'approval' }),
      ],
      { tools: [ask], retry: { initialDelayMs: 1 } },
    );
    await session.prompt('Go.').result;
    expect(heard).toEqual([
      { willRetry: true, attempt: 1 },
      { kind: 'client_tools', message: 'Waiting for the client to run: ask.' },
    ]);
  });
});

describe('a decision', () => {
  it('is asked once: a process that comes after a crash finds the answer in the log', async () => {
    const journal = memoryJournal();
    let asked = 0;
    const guard = defineHook('before_tool', () => {
      asked += 1;
      return { input: { command: 'safe' } };
    });
    const append = journal.append.bind(journal);
    let dead = false;
    const dying = {
      ...journal,
      append: (...args: Parameters<typeof append>) => {
        // The process dies between the answer and the call's start.
        if (dead || args[3].some(({ type }) => type === 'tool_started')) {
          dead = true;
          return Promise.reject(new Error('The process is gone.'));
        }
        return append(...args);
      },
    };
    const agent = defineAgent({ model: scriptedModel([runs('ls'), 'Done.']), tools: [bash], hooks: [guard] });
    ran.length = 0;
    const first = await createSession(agent, { id: 's', journal: dying, ids: countingIds() });
    await expect(first.prompt('Go.').result).rejects.toThrow('gone');
    const second = await openSession(agent, 's', { journal });
    const { status } = await second.resume().result;
    expect([status, asked, ran]).toEqual(['completed', 1, ['safe']]);
  });

  it("is given up when the run is aborted: the hook's signal fires and the run ends", async () => {
    let signal: AbortSignal | undefined;
    const started = Promise.withResolvers<void>();
    const slow = defineHook('before_run', (_, context) => {
      ({ signal } = context);
      started.resolve();
      return new Promise<HookAnswer>(() => {});
    });
    const { session } = await setUp(['Hello.'], [slow]);
    const { result } = session.prompt('Go.');
    await started.promise;
    await session.abort('Changed my mind.');
    expect(await result).toMatchObject({ status: 'aborted', message: 'Changed my mind.' });
    expect(signal?.aborted).toBe(true);
  });
});

describe('a session', () => {
  it('starts once per opening, and says how', async () => {
    const sources: string[] = [];
    const hook = defineHook('session_start', ({ source }) => void sources.push(source));
    const journal = memoryJournal();
    const agent = defineAgent({ model: scriptedModel(['a', 'b', 'c', 'd']), hooks: [hook] });
    const first = await createSession(agent, { id: 's', journal });
    await first.prompt('1').result;
    await first.prompt('2').result;
    const second = await openSession(agent, 's', { journal });
    await second.prompt('3').result;
    await second.reset();
    await second.prompt('4').result;
    expect(sources).toEqual(['startup', 'resume', 'clear']);
  });

  it('ends with a reason when it is closed or reset', async () => {
    const reasons: string[] = [];
    const { session } = await setUp(['Hi.'], [defineHook('session_end', ({ reason }) => void reasons.push(reason))]);
    await session.prompt('Go.').result;
    await session.reset();
    await session.close({ reason: 'logout' });
    expect(reasons).toEqual(['clear', 'logout']);
  });
});

describe('a hook that allows a call', () => {
  const allows = defineHook('before_tool', () => ({ decision: 'allow' }));
  const asking = (turns: readonly (Turn | string)[], hooks: readonly Hook[], more: Partial<AgentDefinition> = {}) =>
    setUp(turns, hooks, { tools: [{ ...bash, access: () => ({ readOnly: false }) }], ...more });

  it('is needed by a call that nothing else allows', async () => {
    const { session } = await asking([runs('ls')], []);
    expect((await session.prompt('Go.').result).status).toBe('paused');
  });

  it('spares people the question', async () => {
    const { session } = await asking([runs('ls'), 'Done.'], [allows]);
    expect((await session.prompt('Go.').result).status).toBe('completed');
    expect(ran).toEqual(['ls']);
  });

  it('answers a question that somebody would be asked, also with other arguments', async () => {
    const answers = defineHook('permission_request', () => ({ decision: 'allow', input: { command: 'pwd' } }));
    const { session } = await asking([runs('ls'), 'Done.'], [answers]);
    expect((await session.prompt('Go.').result).status).toBe('completed');
    expect(ran).toEqual(['pwd']);
  });

  it('does not overrule a rule that denies, or before the call a rule or a hook that asks', async () => {
    const request = defineHook('permission_request', () => ({ decision: 'allow' }));
    const denied = await asking([runs('ls'), 'Done.'], [allows, request], { permissions: { deny: ['bash'] } });
    await denied.session.prompt('Go.').result;
    expect(rejections(denied.events)[0]).toContain('Permission denied');
    const asked = await asking([runs('ls')], [allows], { permissions: { ask: ['bash'] } });
    expect((await asked.session.prompt('Go.').result).status).toBe('paused');
    const asks = defineHook('before_tool', () => ({ decision: 'ask' }));
    const doubted = await asking([runs('ls')], [asks, allows]);
    expect((await doubted.session.prompt('Go.').result).status).toBe('paused');
    expect(ran).toEqual([]);
  });

  it('has not allowed what a later hook makes of the call', async () => {
    const changes = defineHook('before_tool', () => ({ input: { command: 'rm' } }));
    const { session } = await asking([runs('ls')], [allows, changes]);
    expect((await session.prompt('Go.').result).status).toBe('paused');
  });

  it('allows nothing at other moments', async () => {
    const { session } = await setUp(['Hi.'], [defineHook('before_run', () => ({ decision: 'allow' }))]);
    expect((await session.prompt('Go.').result).status).toBe('completed');
  });
});

describe('a run that is aborted', () => {
  it('tells tool_failed of the call that was cut off, and stop, once each', async () => {
    const begun = Promise.withResolvers<void>();
    const slow = defineTool({
      name: 'slow',
      description: 'Waits.',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
      readOnly: true,
      execute: (_, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('cut off')));
          begun.resolve();
        }),
    });
    const told: unknown[] = [];
    const hooks = (['after_tool', 'tool_failed', 'stop'] as const).map((event) =>
      defineHook(event, (input) => void told.push(input)),
    );
    const calls = { toolCalls: [{ name: 'slow', arguments: { path: 'a' } }] };
    const { session } = await setUp([calls], hooks, { tools: [slow] });
    const run = session.prompt('Go.');
    await begun.promise;
    await run.abort();
    expect((await run.result).status).toBe('aborted');
    expect(told).toMatchObject([
      { event: 'tool_failed', toolName: 'slow', arguments: { path: 'a' }, isError: true, interrupted: true },
      { event: 'stop', interrupted: true },
    ]);
  });
});
