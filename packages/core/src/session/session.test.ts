import { EVENT_VERSION } from '../events/version.ts';
import { describe, expect, it } from 'vitest';
import { logOf, scriptedModel, testClock, type ScriptedModel } from '@treadle/testing';
import type { DurableEventBody } from '../entries/events.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type Journal,
  type Message,
  type Session,
  type UserInput,
} from '../index.ts';

async function sessionWith(model: ScriptedModel): Promise<Session> {
  return createSession(defineAgent({ model, retry: { afterText: false } }));
}

const roles = (messages: readonly Message[]): string[] => messages.map(({ role }) => role);

/** What each message of a request says, for the eye. */
const said = (messages: readonly Message[]): string[] =>
  messages.map((message) =>
    message.role === 'extension'
      ? message.kind
      : message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join('+'),
  );

const sentTo = (model: ScriptedModel, call: number): string[] => said(model.requests[call]?.messages ?? []);

/** A promise with its handle, for scripts that wait. */
function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => (open = resolve));
  return { promise, open };
}

describe('prompt', () => {
  it.each([
    ['a text', 'Hello', ['Hello']],
    [
      'blocks',
      [
        { type: 'text', text: 'Look:' },
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      ],
      ['Look:+image'],
    ],
    ['a message', { content: 'Hello' }, ['Hello']],
    ['messages', [{ content: 'One' }, { content: [{ type: 'text', text: 'Two' }] }], ['One', 'Two']],
  ] as const)('takes %s', async (_, input, expected) => {
    const model = scriptedModel(['Hi.']);
    await (await sessionWith(model)).prompt(input).result;
    expect(sentTo(model, 0)).toEqual(expected);
  });

  it('takes a stream: the first message starts the run, the others follow up, and the run ends with the stream', async () => {
    const model = scriptedModel(['First answer.', 'Second answer.', 'Third answer.']);
    const session = await sessionWith(model);
    const second = gate();
    async function* prompts(): AsyncGenerator<UserInput> {
      yield 'One';
      await second.promise;
      yield 'Two';
      yield { content: 'Three' };
    }
    const run = session.prompt(prompts());
    let answered = 0;
    for await (const event of run) {
      if (event.type === 'message_added' && event.message.role === 'assistant' && ++answered === 1) second.open();
    }
    const result = await run.result;
    expect(said(result.messages)).toEqual(['One', 'First answer.', 'Two', 'Second answer.', 'Three', 'Third answer.']);
    expect(result).toMatchObject({ status: 'completed', turns: 3 });
  });

  it('cancels the run, with the reason, when its stream fails', async () => {
    const session = await sessionWith(scriptedModel(['Answer.']));
    async function* prompts(): AsyncGenerator<UserInput> {
      yield 'One';
      throw new Error('microphone unplugged');
    }
    const result = await session.prompt(prompts()).result;
    expect(result.status).toBe('aborted');
    expect(result.message).toContain('microphone unplugged');
  });

  it.each([
    ['', 'an empty text'],
    [[], 'no blocks'],
    ['  \n', 'only white space'],
  ] as const)('refuses %j: %s', async (input, _why) => {
    const session = await sessionWith(scriptedModel([]));
    expect(() => session.prompt(input)).toThrow(expect.objectContaining({ code: 'empty_prompt' }));
  });

  it.each([
    [undefined],
    [null],
    [5],
    [{}],
    [['a', 'b']],
    [[{ type: 'nonsense' }]],
    [[{ type: 'image', mediaType: 'image/png' }]],
  ])('refuses %j, which is no message', async (input) => {
    const session = await sessionWith(scriptedModel([]));
    expect(() => session.prompt(input as never)).toThrow(expect.objectContaining({ code: 'invalid_messages' }));
  });

  it('refuses a message that is nested deeper than a log may be, and takes the next one', async () => {
    const session = await sessionWith(scriptedModel(['Hello.']));
    const block = { type: 'text', text: 'Hi.', opaque: JSON.parse(`${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`) };
    await expect(session.prompt([block] as never).result).rejects.toMatchObject({ code: 'json_too_deep' });
    expect((await session.prompt('Hi.').result).text).toBe('Hello.');
  });

  it('refuses metadata that no log can hold', async () => {
    const session = await sessionWith(scriptedModel([]));
    const metadata = { n: 1n } as never;
    expect(() => session.prompt('Go.', { metadata })).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
  });

  it('during a run is refused with a code, naming steer and follow-up', async () => {
    const hold = gate();
    const session = await sessionWith(scriptedModel([{ text: 'Hi.', wait: hold.promise }]));
    const run = session.prompt('One');
    expect(() => session.prompt('Two')).toThrow(
      expect.objectContaining({ code: 'run_active', message: expect.stringMatching(/steer\(\).*followUp\(\)/) }),
    );
    hold.open();
    await run.result;
    expect(() => session.prompt('Two')).not.toThrow();
    await session.idle();
  });

  it('goes on with the conversation', async () => {
    const model = scriptedModel(['One.', 'Two.']);
    const session = await sessionWith(model);
    await session.prompt('First').result;
    const result = await session.prompt('Second').result;
    expect(sentTo(model, 1)).toEqual(['First', 'One.', 'Second']);
    expect(said(result.messages)).toEqual(['Second', 'Two.']);
    expect(result.runId.endsWith('.2')).toBe(true);
  });
});

describe('steering and follow-ups', () => {
  it('steer reaches the next model call', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done.']);
    const session: { current: Session | null } = { current: null };
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      execute: async () => {
        await session.current?.steer('Hurry.');
        return 'seen';
      },
    });
    session.current = await createSession(defineAgent({ model, tools: [look] }));
    await session.current.prompt('Go.').result;
    expect(sentTo(model, 1)).toEqual(['Go.', 'tool_call', 'seen', 'Hurry.']);
  });

  it('follow-ups wait until the run would end, one at a time', async () => {
    const hold = gate();
    const model = scriptedModel([{ text: 'One.', wait: hold.promise }, 'Two.', 'Three.']);
    const session = await sessionWith(model);
    const run = session.prompt('Go.');
    await run.id;
    await session.followUp('And then?');
    await session.followUp('And after that?');
    hold.open();
    const result = await run.result;
    expect(said(result.messages)).toEqual(['Go.', 'One.', 'And then?', 'Two.', 'And after that?', 'Three.']);
  });

  it('queued while nothing runs go with the next run', async () => {
    const model = scriptedModel(['One.']);
    const session = await sessionWith(model);
    await session.steer('Be brief.');
    await session.prompt('Go.').result;
    expect(sentTo(model, 0)).toEqual(['Go.', 'Be brief.']);
  });
});

describe('continue', () => {
  it('is refused on an empty history', async () => {
    const session = await sessionWith(scriptedModel([]));
    expect(() => session.continue()).toThrow(expect.objectContaining({ code: 'nothing_to_continue' }));
  });

  it("is refused when the assistant's message is the last", async () => {
    const session = await sessionWith(scriptedModel(['Hi.']));
    await session.prompt('Hello').result;
    expect(() => session.continue()).toThrow(expect.objectContaining({ code: 'ends_with_assistant' }));
  });

  it('tries again after a failed call, without the partial reply', async () => {
    const model = scriptedModel([
      { text: 'Half an ans', error: { kind: 'network', afterDeltas: Infinity } },
      'A whole answer.',
    ]);
    const session = await sessionWith(model);
    const failed = await session.prompt('Hello').result;
    expect(failed).toMatchObject({ status: 'model_error', error: { kind: 'network' } });
    expect(said(failed.messages)).toEqual(['Hello', 'Half an ans']);
    expect(failed.finalMessage?.stopReason).toBe('error');
    const result = await session.continue().result;
    expect(sentTo(model, 1)).toEqual(['Hello']);
    expect(result.text).toBe('A whole answer.');
  });
});

describe('abort', () => {
  it('during a model call keeps what was said, and the history stays valid', async () => {
    const hold = gate();
    const model = scriptedModel([
      { text: 'Once upon a time there was', waitAfter: { deltas: 1, until: hold.promise } },
      'Sorry.',
    ]);
    const session = await sessionWith(model);
    const run = session.prompt('Tell me a story.');
    for await (const event of run) {
      if (event.type === 'message_delta') break;
    }
    await run.abort('enough');
    const result = await run.result;
    expect(result).toMatchObject({ status: 'aborted', stopReason: 'aborted', message: 'enough' });
    expect(said(session.messages)).toEqual(['Tell me a story.', 'Once upon a time']);
    await session.prompt('What?').result;
    expect(sentTo(model, 1)).toEqual(['Tell me a story.', 'Once upon a time', 'What?']);
    hold.open();
  });

  it('drops a half-written tool call, and no tool runs', async () => {
    const hold = gate();
    let ran = 0;
    const count = defineTool({ name: 'count', description: 'Counts.', execute: () => String(++ran) });
    const model = scriptedModel([
      {
        toolCalls: [{ name: 'count', argumentsText: '{"a": "long text"}' }],
        chunkSize: 3,
        waitAfter: { deltas: 2, until: hold.promise },
      },
    ]);
    const session = await createSession(defineAgent({ model, tools: [count] }));
    const run = session.prompt('Go.');
    const types: string[] = [];
    for await (const event of run) {
      types.push(event.type);
      if (event.type === 'message_delta' && event.offset > 0) void run.abort();
    }
    expect((await run.result).status).toBe('aborted');
    expect(types).toContain('message_discarded');
    expect(roles(session.messages)).toEqual(['user']);
    expect(ran).toBe(0);
    hold.open();
  });

  it('T3: during tools ends the run even when a tool ignores its signal, and every call has a result', async () => {
    const clock = testClock();
    let started = 0;
    const both = gate();
    const deaf = defineTool({
      name: 'deaf',
      description: 'Never ends.',
      execute: () => {
        if (++started === 2) both.open();
        return new Promise<string>(() => {});
      },
    });
    const model = scriptedModel([{ toolCalls: [{ name: 'deaf' }, { name: 'deaf' }] }]);
    const agent = defineAgent({ model, tools: [deaf] });
    const session = await createSession(agent, { clock });
    const run = session.prompt('Go.');
    await both.promise;
    await run.abort();
    await clock.advance(100);
    expect((await run.result).status).toBe('aborted');
    expect(roles(session.messages)).toEqual(['user', 'assistant', 'tool', 'tool']);
  });

  it('right after prompt cancels the run that is about to start', async () => {
    const hold = gate();
    const session = await sessionWith(scriptedModel([{ text: 'Hi.', wait: hold.promise }]));
    const run = session.prompt('Go.');
    await run.abort();
    expect((await run.result).status).toBe('aborted');
    hold.open();
  });

  it('without a run does nothing, also not to the next one', async () => {
    const session = await sessionWith(scriptedModel(['Hi.']));
    await session.abort();
    expect((await session.prompt('Go.').result).status).toBe('completed');
  });
});

describe('reset, export and import', () => {
  it('reset forgets the conversation and what was queued', async () => {
    const model = scriptedModel(['One.', 'Two.']);
    const session = await sessionWith(model);
    await session.prompt('First').result;
    await session.steer('Left over');
    await session.reset();
    expect(session.messages).toEqual([]);
    await session.prompt('Second').result;
    expect(sentTo(model, 1)).toEqual(['Second']);
  });

  it('an export survives JSON and brings the conversation to another session', async () => {
    const first = await sessionWith(scriptedModel(['One.']));
    await first.prompt('First').result;
    const file = JSON.stringify(first.exportMessages());
    const model = scriptedModel(['Two.']);
    const second = await sessionWith(model);
    await second.importMessages(JSON.parse(file));
    await second.prompt('Second').result;
    expect(sentTo(model, 0)).toEqual(['First', 'One.', 'Second']);
  });

  it('keeps extension messages in the history and from the model', async () => {
    const model = scriptedModel(['Two.']);
    const session = await sessionWith(model);
    await session.importMessages([
      { role: 'extension', kind: 'ui_update', data: { tab: 2 } },
      { role: 'user', content: 'Hello' },
    ]);
    await session.prompt('Again').result;
    expect(sentTo(model, 0)).toEqual(['Hello', 'Again']);
    expect(roles(session.exportMessages())).toEqual(['extension', 'user', 'user', 'assistant']);
  });

  it('takes extension messages while a call runs, and after it', async () => {
    const hold = gate();
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => hold.promise.then(() => 'seen') });
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done.', 'Again.']);
    const journal = memoryJournal();
    const session = await createSession(defineAgent({ model, tools: [look] }), { journal });
    const run = session.prompt('Go.');
    for await (const event of run) {
      if (event.type !== 'tool_started') continue;
      await session.addExtension('ui_update', { tab: 2 });
      hold.open();
    }
    await session.addExtension('ui_update', { tab: 3 });
    await session.prompt('Again.').result;
    const expected = ['user', 'assistant', 'extension', 'tool', 'assistant', 'extension', 'user', 'assistant'];
    expect(roles(session.messages)).toEqual(expected);
    expect(model.requests.map(({ messages }) => roles(messages)).at(-1)).not.toContain('extension');
    const later = await openSession(defineAgent({ model, tools: [look] }), session.id, { journal });
    expect(roles(later.messages)).toEqual(expected);
    await expect(session.addExtension('x', Number.NaN)).rejects.toMatchObject({ code: 'invalid_messages' });
  });

  it('is refused during a run', async () => {
    const hold = gate();
    const session = await sessionWith(scriptedModel([{ text: 'Hi.', wait: hold.promise }]));
    const run = session.prompt('Go.');
    await expect(session.reset()).rejects.toMatchObject({ code: 'run_active' });
    hold.open();
    await run.result;
  });

  it('refuses what is not a conversation, naming the place', async () => {
    const session = await sessionWith(scriptedModel([]));
    await expect(
      session.importMessages([
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'txt' }] },
      ]),
    ).rejects.toMatchObject({
      code: 'invalid_messages',
      message: expect.stringContaining('messages[1].content[0].type'),
    });
    expect(session.messages).toEqual([]);
  });
});

describe('limits', () => {
  const again = defineTool({ name: 'again', description: 'Again.', execute: () => 'again' });
  const forever = (): ScriptedModel =>
    scriptedModel(Array.from({ length: 60 }, () => ({ toolCalls: [{ name: 'again' }] })));

  it('stop at 50 turns unless told otherwise, with the reason in the history', async () => {
    const session = await createSession(defineAgent({ model: forever(), tools: [again], loopDetection: false }));
    const result = await session.prompt('Go.').result;
    expect(result).toMatchObject({ status: 'turn_limit', turns: 50 });
    expect(said(session.messages).at(-1)).toBe('[Agent stopped: turn limit reached (50 of 50 turns)]');
  });

  it('stop when the tokens are used up', async () => {
    const session = await createSession(
      defineAgent({ model: forever(), tools: [again], limits: { maxTotalTokens: 40 } }),
    );
    const result = await session.prompt('Go.').result;
    // Each scripted turn uses 15 tokens: the limit is seen before the fourth call.
    expect(result).toMatchObject({ status: 'token_limit', turns: 3 });
  });

  it('stop when the time is up, also in the middle of a call that hangs', async () => {
    const clock = testClock();
    const hold = gate();
    const session = await createSession(
      defineAgent({ model: scriptedModel([{ text: 'Hi.', wait: hold.promise }]), limits: { maxDurationMs: 5000 } }),
      { clock },
    );
    const run = session.prompt('Go.');
    const calling = gate();
    session.subscribe((event) => {
      if (event.type === 'message_started') calling.open();
    });
    await calling.promise;
    await clock.advance(5000);
    expect(await run.result).toMatchObject({ status: 'time_limit', message: 'time limit reached (5.0 s of 5 s)' });
    hold.open();
  });

  it('that make no sense are refused', () => {
    const model = scriptedModel([]);
    for (const limits of [{ maxTurns: 0 }, { maxDurationMs: -1 }, { maxTotalTokens: Number.NaN }]) {
      expect(() => defineAgent({ model, limits })).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
    }
  });
});

describe('a reply that is no success', () => {
  it.each([
    ['refusal', 'refused'],
    ['content_filter', 'refused'],
    ['length', 'length'],
  ] as const)('%s ends the run as %s', async (stopReason, status) => {
    const model = scriptedModel([{ text: 'I', stopReason }]);
    const session = await createSession(defineAgent({ model, maxContinuations: 0 }));
    expect(await session.prompt('Go.').result).toMatchObject({ status, stopReason });
  });

  it('a refusal does not run the calls that came with it again and again', async () => {
    const again = defineTool({ name: 'again', description: 'Again.', execute: () => 'again' });
    const model = scriptedModel([{ text: 'No.', toolCalls: [{ name: 'again' }], stopReason: 'refusal' }]);
    const result = await (await createSession(defineAgent({ model, tools: [again] }))).prompt('Go.').result;
    expect(result).toMatchObject({ status: 'refused', turns: 1 });
  });

  it('a pause of the provider goes on', async () => {
    const session = await sessionWith(scriptedModel([{ text: 'Searching', stopReason: 'pause' }, 'Found.']));
    expect(await session.prompt('Go.').result).toMatchObject({
      status: 'completed',
      text: 'SearchingFound.',
      turns: 2,
    });
  });

  it('a model that throws is a failed call', async () => {
    const model = {
      provider: 'odd',
      id: 'odd',
      stream: () => {
        throw new Error('no stream');
      },
    };
    const result = await (await createSession(defineAgent({ model }))).prompt('Go.').result;
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'other' } });
    expect(result.message).toContain('no stream');
  });

  it('a stream that ends without its end is a failed call', async () => {
    const session = await sessionWith(scriptedModel([{ text: 'Hal', unfinished: true }]));
    expect(await session.prompt('Go.').result).toMatchObject({
      status: 'model_error',
      error: { kind: 'network', retryable: true },
    });
  });
});

describe('the result', () => {
  it('has usage, cost, turns, files, the container and the answer after the last tool block', async () => {
    const file = { type: 'file', mediaType: 'text/csv', fileId: 'file_1', provider: 'scripted' } as const;
    const make = defineTool({
      name: 'make',
      description: 'Makes.',
      execute: () => ({ content: 'made', files: [file] }),
    });
    const model = scriptedModel(
      [
        { text: 'First I make it.', toolCalls: [{ name: 'make' }], containerId: 'box_1' },
        {
          content: [
            { type: 'text', text: 'Before. ' },
            { type: 'provider_tool_call', callId: 'p1', name: 'web_search', arguments: {}, raw: {} },
            { type: 'text', text: 'After.' },
          ],
        },
      ],
      { cost: (usage) => (usage.output ?? 0) / 10 },
    );
    const session = await createSession(defineAgent({ model, tools: [make] }));
    const result = await session.prompt('Go.').result;
    expect(result).toMatchObject({
      text: 'After.',
      turns: 2,
      usage: { input: 20, output: 10 },
      cost: 1,
      files: [file],
      containerId: 'box_1',
    });
    expect(model.requests[1]?.containerId).toBe('box_1');
  });

  it('has no cost when the price can not be had', async () => {
    const cost = (): number => {
      throw new Error('no price list');
    };
    const session = await createSession(defineAgent({ model: scriptedModel(['Hi.'], { cost }) }));
    expect(await session.prompt('Go.').result).toMatchObject({ status: 'completed', cost: null });
  });

  it('has no cost when any part of it is unknown', async () => {
    const session = await sessionWith(scriptedModel(['Hi.']));
    expect((await session.prompt('Go.').result).cost).toBeNull();
  });
});

describe('observers', () => {
  it('that throw or reject do not disturb the run, and are reported', async () => {
    const failures: unknown[] = [];
    const session = await createSession(defineAgent({ model: scriptedModel(['Hi.']) }), {
      onObserverError: (error) => failures.push(error),
    });
    session.subscribe(() => {
      throw new Error('bad observer');
    });
    session.subscribe(() => Promise.reject(new Error('bad promise')));
    const seen: string[] = [];
    session.subscribe(({ type }) => seen.push(type));
    expect((await session.prompt('Go.').result).status).toBe('completed');
    expect(seen.at(-1)).toBe('run_ended');
    expect(failures.length).toBeGreaterThan(5);
  });

  it('whose failures are reported to someone who fails too do not disturb it either', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel(['Hi.']) }), {
      onObserverError: () => {
        throw new Error('bad reporter');
      },
    });
    session.subscribe(() => {
      throw new Error('bad observer');
    });
    expect((await session.prompt('Go.').result).status).toBe('completed');
  });

  it('that are slow do not hold up the run', async () => {
    const session = await sessionWith(scriptedModel(['Hi.']));
    session.subscribe(() => new Promise<void>(() => {}));
    expect((await session.prompt('Go.').result).status).toBe('completed');
  });
});

describe('an agent', () => {
  it('without a model is refused', () => {
    expect(() => defineAgent({} as never)).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
  });

  it('can not be changed', () => {
    const agent = defineAgent({ model: scriptedModel([]) });
    expect(() => Object.assign(agent.limits, { maxTurns: 1 })).toThrow(TypeError);
  });
});

describe('a session in another process', () => {
  it('opens with its conversation', async () => {
    const journal = memoryJournal();
    const agent = defineAgent({ model: scriptedModel(['One.']) });
    const first = await createSession(agent, { journal, id: 's1' });
    await first.prompt('First').result;
    const model = scriptedModel(['Two.']);
    const second = await openSession(defineAgent({ model }), 's1', { journal });
    await second.prompt('Second').result;
    expect(sentTo(model, 0)).toEqual(['First', 'One.', 'Second']);
  });

  it('that is being driven is refused, naming who holds it', async () => {
    const journal = memoryJournal();
    const hold = gate();
    const agent = defineAgent({ model: scriptedModel([{ text: 'Hi.', wait: hold.promise }]) });
    const first = await createSession(agent, { journal, id: 's1', owner: 'process 7' });
    const run = first.prompt('First');
    await run.id;
    const second = await openSession(agent, 's1', { journal });
    await expect(second.prompt('Second').result).rejects.toMatchObject({
      code: 'session_busy',
      message: expect.stringContaining('process 7'),
    });
    hold.open();
    expect((await run.result).status).toBe('completed');
  });

  it('does not exist', async () => {
    await expect(
      openSession(defineAgent({ model: scriptedModel([]) }), 'nope', { journal: memoryJournal() }),
    ).rejects.toMatchObject({ code: 'session_not_found' });
  });

  it('was written by a newer version', async () => {
    const journal = memoryJournal();
    await journal.create('s1', { type: 'session_created', at: 0, eventVersion: 99, sessionId: 's1' });
    await expect(openSession(defineAgent({ model: scriptedModel([]) }), 's1', { journal })).rejects.toMatchObject({
      code: 'journal_too_new',
    });
    expect(await logOf(journal, 's1')).toHaveLength(1);
  });

  it('S10: was begun by this version, and a newer one drove it or spoke to it: it is refused, untouched', async () => {
    const agent = defineAgent({ model: scriptedModel(['Hello.']) });
    const newer = { eventVersion: EVENT_VERSION + 1 };
    for (const event of [
      { type: 'drive_started', at: 0, epoch: 9, owner: 'the future', ...newer },
      { type: 'telepathy', at: 0 },
      { type: 'input_received', at: 0, key: 'k', input: { type: 'thought' } },
    ]) {
      const journal = memoryJournal();
      const session = await createSession(agent, { journal, id: 's1' });
      const claim = await journal.claim('s1', { id: 'future', label: 'the future' });
      await journal.append('s1', claim.epoch, 1, [event as unknown as DurableEventBody]);
      await claim.release();
      await expect(openSession(agent, 's1', { journal })).rejects.toMatchObject({ code: 'journal_too_new' });
      // Also the second time.
      for (const text of ['Hi.', 'Hi again.'])
        await expect(session.prompt(text).result).rejects.toMatchObject({ code: 'journal_too_new' });
      expect(await logOf(journal, 's1')).toHaveLength(2);
    }
  });

  it('was begun by an older version: the first drive of this one says so, once', async () => {
    const journal = memoryJournal();
    await journal.create('s1', { type: 'session_created', at: 0, eventVersion: 0, sessionId: 's1' });
    const session = await openSession(defineAgent({ model: scriptedModel(() => 'Hello.') }), 's1', { journal });
    await session.prompt('Hi.').result;
    await session.prompt('Hi again.').result;
    const drives = (await logOf(journal, 's1')).filter(({ type }) => type === 'drive_started');
    expect(drives.map((event) => 'eventVersion' in event)).toEqual([true, false]);
  });
});

describe('the methods of a session', () => {
  it('can be taken off it, handed on, put around others and replaced', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel(() => 'Hello.') }));
    const { prompt } = session;
    expect((await prompt('One.').result).text).toBe('Hello.');
    expect({ ...session }.prompt).toBe(prompt);
    expect((await new Proxy(session, {}).prompt('Two.').result).text).toBe('Hello.');
    const asked: unknown[] = [];
    const watched = Object.assign(session, {
      prompt: (...said: Parameters<Session['prompt']>) => {
        asked.push(said[0]);
        return prompt(...said);
      },
    });
    await watched.prompt('Three.').result;
    expect(asked).toEqual(['Three.']);
  });
});

describe('a new session', () => {
  it('has what its journal has made of its beginning', async () => {
    const inner = memoryJournal();
    const message = { content: [{ type: 'text', text: 'Hi.' }] } as const;
    const journal: Journal = {
      ...inner,
      async create(sessionId, ...rest) {
        await inner.create(sessionId, ...rest);
        await inner.post(sessionId, { type: 'prompt', messages: [message] }, 'k', 1);
      },
    };
    const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }), { journal });
    expect(session.status).not.toBe('idle');
    expect((await session.resume().result).text).toBe('Hello.');
  });
});
