import { logOf, scriptedModel, testClock, type Turn } from '@treadle/testing';
import { beforeEach, describe, expect, it } from 'vitest';

import {
  createSession,
  defineAgent,
  defineTool,
  errorText,
  memoryJournal,
  openSession,
  type Agent,
  type AgentDefinition,
  type CanUseTool,
  type JsonObject,
  type Journal,
  type PermissionOptions,
  type PermissionResult,
  type PermissionUpdate,
  type Run,
  type RunResult,
  type Session,
} from '../../index.ts';

const ran: string[] = [];
beforeEach(() => {
  ran.length = 0;
});

/** Asks by default: it says that it writes. */
const write = defineTool({
  name: 'write',
  description: 'Writes a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  execution: 'sequential',
  access: ({ path }) => ({ folder: '/work', paths: [{ path: `/work/${path}`, write: true }], edits: true }),
  execute: ({ path }) => {
    ran.push(path);
    return `wrote ${path}`;
  },
});

/** The application's own, of which nothing is known. */
const own = defineTool({ name: 'own', description: 'Own.', execute: () => String(ran.push('own')) });

const calling = (...paths: string[]): Turn => ({
  toolCalls: paths.map((path) => ({ name: 'write', arguments: { path } })),
});

const agentWith = (
  permissions: PermissionOptions = {},
  turns: readonly (Turn | string)[] = [calling('a'), 'Done.'],
  more: Partial<AgentDefinition> = {},
): Agent => defineAgent({ model: scriptedModel(turns), tools: [write, own], permissions, ...more });

const play = async (...given: Parameters<typeof agentWith>): Promise<RunResult> =>
  (await createSession(agentWith(...given))).prompt('Go.').result;

const resultsOf = ({ messages }: RunResult): string[] =>
  messages.flatMap((message) =>
    message.role === 'tool' ? message.content.map((block) => (block.type === 'text' ? block.text : '')) : [],
  );

const approvalOf = ({ pending }: RunResult): string => pending[0]?.approvalId ?? 'none';

const remembered: PermissionUpdate = {
  type: 'addRules',
  rules: ['write(**)'],
  behavior: 'allow',
  destination: 'session',
};

describe('A call that nothing allows', () => {
  it('pauses the run, and runs once a person says yes', async () => {
    const session = await createSession(agentWith());
    const paused = await session.prompt('Go.').result;
    expect(paused).toMatchObject({
      status: 'paused',
      pending: [{ toolName: 'write', arguments: { path: 'a' }, approvalId: expect.any(String) }],
    });
    expect(ran).toEqual([]);
    const result = await session.approve(approvalOf(paused)).result;
    expect(result).toMatchObject({ status: 'completed', permissionDenials: [] });
    expect(ran).toEqual(['a']);
  });

  it('is answered with the words of whoever says no, and the run goes on', async () => {
    const session = await createSession(agentWith());
    const paused = await session.prompt('Go.').result;
    const result = await session.reject(approvalOf(paused), 'Not that one.').result;
    expect(result.status).toBe('completed');
    expect(result.permissionDenials).toMatchObject([
      { toolName: 'write', arguments: { path: 'a' }, reason: expect.stringContaining('Not that one.') },
    ]);
    expect(ran).toEqual([]);
  });

  it('ends the run, every call answered, when the no is to end it', async () => {
    const session = await createSession(agentWith({}, [calling('a', 'b'), 'Done.']));
    const paused = await session.prompt('Go.').result;
    const said = { message: 'Stop.', interrupt: true };
    const result = await session.reject(approvalOf(paused), said).result;
    expect(result).toMatchObject({ status: 'stopped', message: 'Stop.' });
    expect(resultsOf(result)).toEqual([expect.stringContaining('Stop.'), 'Not executed: Stop.']);
  });

  it('keeps its place: a sequential call after it waits, and a parallel one before it has run', async () => {
    const turn: Turn = {
      toolCalls: [
        { name: 'own', arguments: {} },
        { name: 'write', arguments: { path: 'a' } },
        { name: 'write', arguments: { path: 'b' } },
      ],
    };
    const session = await createSession(agentWith({ allow: ['write(b)'] }, [turn, 'Done.']));
    const paused = await session.prompt('Go.').result;
    expect(ran).toEqual(['own']);
    expect(paused.pending.map((call) => call.arguments)).toEqual([{ path: 'a' }]);
    expect(() => session.prompt('Something else.')).toThrow(expect.objectContaining({ code: 'run_active' }));
    await session.approve(approvalOf(paused)).result;
    expect(ran).toEqual(['own', 'a', 'b']);
  });

  it('may be answered while other calls of its turn still run', async () => {
    const started = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const slow = defineTool({
      name: 'slow',
      description: 'Waits.',
      execute: async () => {
        started.resolve();
        await go.promise;
        return 'slept';
      },
    });
    const ask = defineTool({ name: 'ask', description: 'Asks.', approval: 'always', execute: () => 'asked' });
    const turn: Turn = {
      toolCalls: [
        { name: 'ask', arguments: {} },
        { name: 'slow', arguments: {} },
      ],
    };
    const session = await createSession(agentWith({}, [turn, 'Done.'], { tools: [ask, slow] }));
    const run = session.prompt('Go.');
    const asked = new Promise<string>((resolve) => {
      session.subscribe((event) => {
        if (event.type === 'approval_requested') resolve(event.approvalId);
      });
    });
    await started.promise;
    const answered = session.approve(await asked);
    go.resolve();
    expect(answered).toBe(run);
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(resultsOf(await run.result)).toEqual(['asked', 'slept']);
  });

  it('is not asked about when its arguments do not fit', async () => {
    const result = await play({ canUseTool: () => expect.fail('asked') }, [
      { toolCalls: [{ name: 'write', arguments: { path: 7 } }] },
      'Done.',
    ]);
    expect(resultsOf(result)[0]).toContain("don't fit its schema");
    expect(result.permissionDenials).toEqual([]);
  });
});

describe('H4: an approval', () => {
  it('that reaches the log behind the pause it is for is not left lying there', async () => {
    const journal = memoryJournal();
    const paused = Promise.withResolvers<void>();
    const slow: Journal = {
      ...journal,
      async post(sessionId, input, ...rest) {
        if (input.type === 'approval_answer') await paused.promise;
        return journal.post(sessionId, input, ...rest);
      },
    };
    const session = await createSession(agentWith(), { journal: slow });
    const ended = Promise.withResolvers<void>();
    session.subscribe((event) => {
      if (event.type === 'approval_requested') session.approve(event.approvalId);
      if (event.type === 'run_ended') ended.resolve();
    });
    expect((await session.prompt('Go.').result).status).toBe('paused');
    paused.resolve();
    await ended.promise;
    expect(ran).toEqual(['a']);
  });

  it.each(['approval_requested', 'run_paused'] as const)(
    'given the moment %s is heard of lets the call run',
    async (type) => {
      const session = await createSession(agentWith());
      const answered = Promise.withResolvers<Run>();
      session.subscribe((event) => {
        if (event.type !== type) return;
        const { approvalId = '' } = event.type === 'run_paused' ? (event.pending[0] ?? {}) : event;
        answered.resolve(session.approve(approvalId));
      });
      const run = session.prompt('Go.');
      expect((await (await answered.promise).result).status).toBe('completed');
      await run.result;
      await session.idle();
      expect(ran).toEqual(['a']);
      expect([session.activeRun, session.status !== 'idle']).toEqual([null, false]);
    },
  );

  it('H4: answered twice counts once; the second answer is refused', async () => {
    const session = await createSession(agentWith());
    const paused = await session.prompt('Go.').result;
    const first = session.approve(approvalOf(paused));
    await first.result;
    expect(() => session.reject(approvalOf(paused))).toThrow(expect.objectContaining({ code: 'conflict' }));
    expect(ran).toEqual(['a']);
  });

  it('H4: answered by two processes at the same moment counts once', async () => {
    const journal = memoryJournal();
    const session = await createSession(agentWith(), { journal, id: 's' });
    const paused = await session.prompt('Go.').result;
    const others = await Promise.all([1, 2, 3].map(() => openSession(agentWith({}, ['Done.']), 's', { journal })));
    const runs = others.map((other, index) =>
      other[index === 0 ? 'approve' : 'reject'](approvalOf(paused)).result.then(
        () => 'counted',
        (error: unknown) => (error as { code: string }).code,
      ),
    );
    const outcomes = await Promise.all(runs);
    expect(outcomes.filter((outcome) => outcome === 'counted')).toHaveLength(1);
    expect(['conflict', 'session_busy', 'fenced']).toEqual(
      expect.arrayContaining(outcomes.filter((outcome) => outcome !== 'counted')),
    );
    const answers = (await logOf(journal, 's')).filter(({ type }) => type === 'approval_answered');
    expect(answers).toHaveLength(1);
  });

  it('posted twice into the inbox counts once, and the other is rejected in the log', async () => {
    const journal = memoryJournal();
    const session = await createSession(agentWith(), { journal, id: 's' });
    const approvalId = approvalOf(await session.prompt('Go.').result);
    await journal.post('s', { type: 'approval_answer', approvalId, decision: 'reject', message: 'First.' }, 'k1', 0);
    await journal.post('s', { type: 'approval_answer', approvalId, decision: 'approve' }, 'k2', 0);
    const other = await openSession(agentWith({}, ['Done.']), 's', { journal });
    const result = await other.resume().result;
    expect(resultsOf(result)[0]).toContain('First.');
    expect(ran).toEqual([]);
    const rejected = (await logOf(journal, 's')).filter(({ type }) => type === 'input_rejected');
    expect(rejected).toMatchObject([{ reason: expect.stringContaining(`No question ${approvalId} is open`) }]);
  });

  it('H4: answered after an abort, or for another session, is refused', async () => {
    const session = await createSession(agentWith());
    const approvalId = approvalOf(await session.prompt('Go.').result);
    const stranger = await createSession(agentWith());
    await stranger.prompt('Go.').result;
    await session.abort();
    for (const one of [session, stranger]) {
      expect(() => one.approve(approvalId)).toThrow(expect.objectContaining({ code: 'conflict' }));
    }
    expect(ran).toEqual([]);
  });

  it('is for the arguments it was asked with: changed into what must be asked for, it is another question', async () => {
    const session = await createSession(agentWith({ ask: ['write(secrets/**)'] }));
    const first = await session.prompt('Go.').result;
    const changed = { updatedInput: { path: 'secrets/a' } };
    const second = await session.approve(approvalOf(first), changed).result;
    expect(second).toMatchObject({ status: 'paused', pending: [{ arguments: { path: 'secrets/a' } }] });
    expect(approvalOf(second)).not.toBe(approvalOf(first));
    expect(() => session.approve(approvalOf(first))).toThrow('No question');
    expect((await session.approve(approvalOf(second)).result).status).toBe('completed');
    expect(ran).toEqual(['secrets/a']);
  });
});

describe('An approval', () => {
  it('survives the death of the process that asked, and what it remembers the next one', async () => {
    const journal = memoryJournal();
    const first = await createSession(agentWith(), { journal, id: 's' });
    const approvalId = approvalOf(await first.prompt('Go.').result);

    const second = await openSession(agentWith({}, ['Done.']), 's', { journal });
    const said = { updatedPermissions: [remembered] };
    expect((await second.approve(approvalId, said).result).status).toBe('completed');

    const third = await openSession(agentWith({}, [calling('b'), 'Done.']), 's', { journal });
    expect((await third.prompt('Go on.').result).status).toBe('completed');
    expect(ran).toEqual(['a', 'b']);
  });

  it('of a process that died before the call ran is not asked for again', async () => {
    const journal = memoryJournal();
    const session = await createSession(agentWith({ canUseTool: () => ({ behavior: 'allow' }) }), { journal, id: 's' });
    await session.prompt('Go.').result;
    const log = await logOf(journal, 's');
    const decided = log.findIndex(({ type }) => type === 'decision_made');
    const half = memoryJournal();
    const [created, ...events] = log.slice(0, decided + 1);
    if (created?.type !== 'session_created') throw new Error('a log begins with its session');
    await half.create('s', created);
    const claim = await half.claim('s', { id: 'died', label: 'died' });
    await half.append('s', claim.epoch, 1, events);
    await claim.release();

    const canUseTool = (): never => expect.fail('asked again');
    const reopened = await openSession(agentWith({ canUseTool }, ['Done.']), 's', { journal: half });
    expect((await reopened.resume().result).status).toBe('completed');
    expect(ran).toEqual(['a', 'a']);
  });

  it('that can not be used is refused before it is posted', async () => {
    const session = await createSession(agentWith());
    const id = approvalOf(await session.prompt('Go.').result);
    const bypass = { type: 'setMode', mode: 'bypass', destination: 'session' } as const;
    for (const said of [{ updatedPermissions: [bypass] }, { updatedInput: [] as unknown as JsonObject }]) {
      expect(() => session.approve(id, said)).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
    }
    expect((await session.approve(id).result).status).toBe('completed');
  });
});

describe('What an answer makes of the arguments', () => {
  it.each<[string, CanUseTool]>([['a callback', () => ({ behavior: 'allow', updatedInput: { path: 'etc/passwd' } })]])(
    'is held against deny rules again: %s',
    async (_, canUseTool) => {
      const result = await play({ deny: ['write(etc/**)'], canUseTool });
      expect(ran).toEqual([]);
      expect(result.permissionDenials[0]?.reason).toContain('The rule write(etc/**) denies it');
    },
  );

  it('is held against deny rules that were made while a person was asked', async () => {
    const session = await createSession(agentWith());
    const paused = await session.prompt('Go.').result;
    await session.updatePermissions([{ ...remembered, behavior: 'deny' }]);
    const result = await session.approve(approvalOf(paused)).result;
    expect(ran).toEqual([]);
    expect(result.permissionDenials[0]?.reason).toContain('write(**)');
  });

  it('is checked against the schema again', async () => {
    const result = await play({ canUseTool: () => ({ behavior: 'allow', updatedInput: { path: 7 } }) });
    expect(ran).toEqual([]);
    expect(result.permissionDenials[0]?.reason).toContain("don't fit its schema");
  });

  it('is asked about again when a rule wants that; a callback that goes on changing it is a no', async () => {
    const asked: JsonObject[] = [];
    const canUseTool: CanUseTool = (_, input) => {
      asked.push(input);
      return { behavior: 'allow', ...(asked.length === 1 ? { updatedInput: { path: 'secrets/a' } } : {}) };
    };
    await play({ ask: ['write(secrets/**)'], canUseTool });
    expect(asked).toEqual([{ path: 'a' }, { path: 'secrets/a' }]);
    expect(ran).toEqual(['secrets/a']);

    let count = 0;
    const restless: CanUseTool = () => ({ behavior: 'allow', updatedInput: { path: `secrets/${count++}` } });
    const result = await play({ ask: ['write(secrets/**)'], canUseTool: restless });
    expect(count).toBe(3);
    expect(ran).toEqual(['secrets/a']);
    expect(result.permissionDenials[0]?.reason).toContain('changed the call each time');
  });
});

describe('A callback', () => {
  it('that throws, or is silent, denies; the run goes on', async () => {
    const said: string[] = [];
    const onObserverError = (error: unknown) => void said.push(errorText(error));
    const throwing = agentWith({ canUseTool: () => Promise.reject(new Error('no terminal')) });
    const broken = await (await createSession(throwing, { onObserverError })).prompt('Go.').result;
    expect(said[0]).toBe('canUseTool failed, so write was not run: no terminal');
    expect(broken.status).toBe('completed');
    expect(broken.permissionDenials[0]?.reason).toContain('no terminal');

    const clock = testClock();
    const silent = agentWith({ canUseTool: () => new Promise(() => {}), callbackTimeoutMs: 60_000 });
    const session = await createSession(silent, { clock });
    const run = session.prompt('Go.');
    await new Promise<void>((resolve) => {
      session.subscribe((event) => {
        if (event.type === 'message_added' && event.message.role === 'assistant') resolve();
      });
    });
    await clock.advance(60_000);
    expect((await run.result).permissionDenials[0]?.reason).toContain('took more than 60000 ms');
    expect(ran).toEqual([]);
  });

  it('that answers with an unknown decision denies, and says what to write', async () => {
    const said: string[] = [];
    const answer: PermissionResult = JSON.parse('{"behavior":"approved"}');
    const approved = agentWith({ canUseTool: () => answer });
    const session = await createSession(approved, { onObserverError: (error) => said.push(errorText(error)) });
    const { permissionDenials } = await session.prompt('Go.').result;
    expect(permissionDenials[0]?.reason).toContain('answered neither allow nor deny, and says "approved"');
    expect(said[0]).toBe(
      "canUseTool gave an answer that can't be used, so write was not run: " +
        'The permission callback answered neither allow nor deny, and says "approved". ' +
        "Write: return { behavior: 'allow' } or return { behavior: 'deny', message: '…' }",
    );
  });

  it('may take as long as a person does, unless it is given a time', async () => {
    const clock = testClock();
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<PermissionResult>();
    const canUseTool: CanUseTool = () => (asked.resolve(), answer.promise);
    const session = await createSession(agentWith({ canUseTool }), { clock });
    const run = session.prompt('Go.');
    await asked.promise;
    await clock.advance(7 * 24 * 3_600_000);
    answer.resolve({ behavior: 'allow' });
    expect((await run.result).permissionDenials).toEqual([]);
    expect(ran).not.toEqual([]);
  });

  it('is told what it needs to ask a person, and is given up when the run is aborted', async () => {
    const asked = Promise.withResolvers<Parameters<CanUseTool>>();
    const canUseTool: CanUseTool = (...told) => {
      asked.resolve(told);
      return new Promise(() => {});
    };
    const session = await createSession(agentWith({ canUseTool }));
    const run = session.prompt('Go.');
    const [name, input, question] = await asked.promise;
    expect([name, input]).toEqual(['write', { path: 'a' }]);
    expect(question).toMatchObject({
      label: 'write',
      reason: 'No rule allows write here',
      access: { folder: '/work' },
      suggestions: [{ type: 'addRules', rules: ['write(a)'], behavior: 'allow', destination: 'session' }, {}],
    });
    await run.abort();
    expect((await run.result).status).toBe('aborted');
    expect(question.signal.aborted).toBe(true);
    expect(ran).toEqual([]);
  });

  it('may let what it allows be remembered, so that it is not asked again', async () => {
    let count = 0;
    const canUseTool: CanUseTool = (_name, _input, { suggestions }) => {
      count += 1;
      return { behavior: 'allow', updatedPermissions: suggestions.slice(1) };
    };
    await play({ canUseTool }, [calling('a', 'b'), calling('c'), 'Done.']);
    expect(count).toBe(1);
    expect(ran).toEqual(['a', 'b', 'c']);
  });

  it('may have it kept in a file; when that fails the session knows it all the same, with a warning', async () => {
    const saved: PermissionUpdate[] = [];
    const local: PermissionUpdate = { ...remembered, destination: 'localSettings' };
    const canUseTool: CanUseTool = () => ({ behavior: 'allow', updatedPermissions: [local] });
    await play({ canUseTool, saveUpdate: async (update) => void saved.push(update) });
    expect(saved).toEqual([local]);

    const warnings: string[] = [];
    const saveUpdate = (): Promise<never> => Promise.reject(new Error('disk full'));
    const session = await createSession(agentWith({ canUseTool, saveUpdate }, [calling('b'), calling('c'), 'Done.']));
    session.subscribe((event) => {
      if (event.type === 'warning') warnings.push(`${event.code}: ${event.message}`);
    });
    await session.prompt('Go.').result;
    expect(ran).toEqual(['a', 'b', 'c']);
    expect(warnings).toEqual([expect.stringMatching(/^permission_not_saved: .*localSettings.*disk full/)]);
  });
});

describe('Tools', () => {
  it('of the application run without a decision unless they ask for one', async () => {
    const journal = memoryJournal();
    const session = await createSession(agentWith({}, [{ toolCalls: [{ name: 'own', arguments: {} }] }, 'Done.']), {
      journal,
      id: 's',
    });
    expect((await session.prompt('Go.').result).status).toBe('completed');
    expect((await logOf(journal, 's')).filter(({ type }) => type === 'decision_made')).toEqual([]);

    const guarded = defineTool({
      name: 'own',
      description: 'Own.',
      inputSchema: { type: 'object', properties: { big: { type: 'boolean' } } },
      approval: ({ big }) => big === true,
      execute: () => 'done',
    });
    const turns = (big: boolean): (Turn | string)[] => [{ toolCalls: [{ name: 'own', arguments: { big } }] }, 'Done.'];
    expect((await play({}, turns(false), { tools: [guarded] })).status).toBe('completed');
    expect((await play({}, turns(true), { tools: [guarded] })).status).toBe('paused');
  });

  it('that are denied altogether are not told to the model, whoever denies them', async () => {
    const model = scriptedModel(['Done.', 'Done.']);
    const agent = defineAgent({ model, tools: [write, own], permissions: { deny: ['own'] } });
    const session = await createSession(agent);
    await session.prompt('Go.').result;
    await session.updatePermissions([{ ...remembered, rules: ['write'], behavior: 'deny' }]);
    await session.prompt('Go.').result;
    expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual([['write'], []]);
  });

  it('that can not say what they touch are asked about', async () => {
    const broken = defineTool({
      name: 'write',
      description: 'Writes.',
      readOnly: true,
      access: () => Promise.reject(new Error('gone')),
      execute: () => 'done',
    });
    const turns = [{ toolCalls: [{ name: 'write', arguments: {} }] }, 'Done.'];
    expect((await play({ mode: 'acceptEdits' }, turns, { tools: [broken] })).status).toBe('paused');
    expect((await play({ mode: 'dontAsk' }, turns, { tools: [broken] })).permissionDenials).toHaveLength(1);
  });
});

describe('The mode', () => {
  it('may be changed while the session lives, in any process', async () => {
    const journal = memoryJournal();
    const session = await createSession(agentWith(), { journal, id: 's' });
    await session.updatePermissions([{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }]);
    expect((await session.prompt('Go.').result).status).toBe('completed');
    const turns = [calling('b'), 'Done.'];
    const other = await openSession(agentWith({}, turns), 's', { journal });
    await other.updatePermissions([{ type: 'setMode', mode: 'plan', destination: 'session' }]);
    expect((await other.prompt('Go.').result).permissionDenials[0]?.reason).toContain('plan mode');
    expect(ran).toEqual(['a']);
  });

  it('bypass needs to be made possible by the agent', async () => {
    expect(() => agentWith({ mode: 'bypass' })).toThrow('allowBypass');
    const session = await createSession(agentWith());
    const update = { type: 'setMode', mode: 'bypass', destination: 'session' } as const;
    await expect(session.updatePermissions([update])).rejects.toThrow('allowBypass');
    expect((await play({ mode: 'bypass', allowBypass: true })).status).toBe('completed');
  });

  it('of a file is kept only where somebody keeps files', async () => {
    const session = await createSession(agentWith());
    const update = { type: 'setMode', mode: 'plan', destination: 'userSettings' } as const;
    await expect(session.updatePermissions([update])).rejects.toThrow('keeps no settings files');
  });
});

describe('A call that its tool confines to reading', () => {
  const seen: (boolean | undefined)[] = [];
  beforeEach(() => {
    seen.length = 0;
  });
  const look = defineTool({
    name: 'look',
    description: 'Looks at a file.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    background: true,
    access: ({ path }) => ({ folder: '/work', paths: [{ path, write: false }], readOnly: true, confined: true }),
    execute: (_args, { confined }) => {
      seen.push(confined);
      return 'seen';
    },
  });
  const looking = (path: string): Turn => ({ toolCalls: [{ name: 'look', arguments: { path } }] });
  const session = (permissions: PermissionOptions, more: Partial<AgentDefinition> = {}): Promise<Session> =>
    createSession(
      defineAgent({ model: scriptedModel([looking('/work/a'), 'Done.']), tools: [look], permissions, ...more }),
    );

  it('runs confined when nobody was asked, and the log says so', async () => {
    const one = await session({});
    const starts: unknown[] = [];
    for await (const event of one.prompt('Go.')) if (event.type === 'tool_started') starts.push(event.confined);
    expect({ seen, starts }).toEqual({ seen: [true], starts: [true] });
  });

  it('runs free when a person allowed it', async () => {
    const one = await session({ ask: ['look'] });
    const paused = await one.prompt('Go.').result;
    await one.approve(approvalOf(paused)).result;
    expect(seen).toEqual([undefined]);
  });

  it('runs confined in plan mode although a person allowed it', async () => {
    const one = await session({ mode: 'plan', ask: ['look'] });
    const paused = await one.prompt('Go.').result;
    await one.approve(approvalOf(paused)).result;
    expect(seen).toEqual([true]);
  });

  it('runs confined in the background, after its run has ended too', async () => {
    const one = await session(
      {},
      {
        background: {},
        model: scriptedModel([
          { toolCalls: [{ name: 'look', arguments: { path: '/work/a', run_in_background: true } }] },
          'Waiting.',
          'Done.',
        ]),
      },
    );
    await one.prompt('Go.').result;
    expect(seen).toEqual([true]);
  });
});
