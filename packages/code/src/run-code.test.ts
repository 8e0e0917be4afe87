import { createSession, defineAgent, defineHook, defineTool, type JsonObject, type Tool } from '@treadle/core';
import { UNKNOWN_USAGE, type ModelRequest } from '@treadle/core/model';
import { scriptedModel } from '@treadle/testing';
import { beforeEach, describe, expect, it } from 'vitest';

import { withCode, type CodeOptions } from './index.ts';
import { scriptModel } from './script-model.ts';

const calls: string[] = [];
beforeEach(() => void calls.splice(0));

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  inputSchema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  execute: ({ a, b }) => {
    calls.push(`${a}+${b}`);
    return { sum: a + b };
  },
});

const fail = defineTool({
  name: 'fail',
  description: 'Fails.',
  execute: () => Promise.reject(new Error('Not today.')),
});

interface Running {
  readonly tools?: readonly Tool[];
  readonly options?: CodeOptions;
  readonly definition?: Partial<Parameters<typeof defineAgent>[0]>;
}

/** A session whose model runs some code. */
async function running(code: string, { tools = [add, fail], options = {}, definition = {} }: Running = {}) {
  const model = scriptedModel([{ toolCalls: [{ name: 'run_code', arguments: { code } }] }, 'Done.']);
  const session = await createSession(defineAgent(withCode({ ...definition, model, tools }, options)));
  /** What the model reads of the code's result. */
  const read = (): string => {
    const message = model.requests[1]?.messages.at(-1);
    return message?.role === 'tool'
      ? message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
      : '';
  };
  return { model, session, read };
}

/** What a model reads of some code's result. */
async function resultOf(code: string, more: Running = {}): Promise<string> {
  const { session, read } = await running(code, more);
  await session.prompt('Go.').result;
  return read();
}

describe('a script', () => {
  it('calls tools as functions, and only what it returns and prints comes back', async () => {
    const code = `
      let sum = 0;
      for (let i = 0; i < 5; i++) sum = (await tools.add({ a: sum, b: i })).sum;
      console.log('added', { times: 5 });
      return sum;`;
    expect(await resultOf(code)).toBe('added {"times":5}\n10');
    expect(calls).toEqual(['0+0', '0+1', '1+2', '3+3', '6+4']);
  });

  it('makes calls at the same time, in the order in which it makes them', async () => {
    const code =
      'const all = await Promise.all([1, 2, 3].map(async (a) => (await tools.add({ a, b: (await tools.add({ a, b: 0 })).sum })).sum)); return all;';
    expect(await resultOf(code)).toBe('[2,4,6]');
    expect(calls).toEqual(['1+0', '2+0', '3+0', '1+1', '2+2', '3+3']);
  });

  it('makes more calls than may run at the same time', async () => {
    const code = 'return (await Promise.all(Array.from({ length: 50 }, (_, a) => tools.add({ a, b: 1 })))).length;';
    expect(await resultOf(code, { options: { concurrency: 7 } })).toBe('50');
    expect(calls).toHaveLength(50);
  });

  it('can catch the error of a call, and wrong arguments are one', async () => {
    const code = `
      const said = [];
      for (const call of [() => tools.fail(), () => tools.add({ a: 1 }), () => tools.add('x')])
        await call().catch((error) => said.push(error.message.split('\\n')[0]));
      return said;`;
    const said = JSON.parse(await resultOf(code)) as readonly string[];
    expect(said[0]).toContain('Not today.');
    expect(said[1]).toContain("the arguments of add don't fit its schema");
    expect(said[2]).toContain('tools.add takes one object of arguments.');
  });

  it.each([
    ['throws', 'console.log("so far"); throw new Error("Broken.");', 'Error: Broken.'],
    ['is no JavaScript', 'return (;', 'SyntaxError'],
    ['never ends', 'for (;;);', 'interrupted'],
    ['computes long in one step', 'for (;;) { try { "x".repeat(1e6).split("").sort(); } catch {} }', 'interrupted'],
    ['waits for nothing', 'await new Promise(() => {});', 'waits for something that never happens'],
    ['takes too much memory', 'return "x".repeat(1e9).length;', 'out of memory'],
    ['calls itself for ever', 'const f = () => f() + 1; return f();', 'stack overflow'],
    ['asks for what there is not', 'return await fetch("https://example.com");', "'fetch' is not defined"],
    ['imports', 'return await import("node:fs");', 'Error'],
  ])('that %s is an error that the model reads', async (_, code, problem) => {
    const options = { timeoutMs: 200, memoryBytes: 8 * 1024 * 1024 };
    const said = await resultOf(code, { options });
    expect(said).toContain('The agent run_code did not finish (model_error)');
    expect(said).toContain(problem);
  });

  it('that prints too much is cut', async () => {
    const said = await resultOf('return "x".repeat(5000);', { options: { maxOutputLength: 100 } });
    expect(said).toBe(`${'x'.repeat(100)}\n(4900 more characters were left out.)`);
  });

  it('has the clock of the log, and random numbers that stay the same', async () => {
    const code = `
      const [first, at, number] = [Math.random(), Date.now(), new Date().getTime()];
      await tools.add({ a: 1, b: 1 });
      return [first !== Math.random(), at === number, Date.now() >= at];`;
    expect(await resultOf(code)).toBe('[true,true,true]');
  });

  it('has no more calls than it may make', async () => {
    const code = 'for (let a = 0; a < 100; a++) await tools.add({ a, b: 1 });';
    expect(await resultOf(code, { options: { maxToolCalls: 10 } })).toContain('did not finish (tool_call_limit)');
    expect(calls).toHaveLength(10);
  });
});

describe('a call in a script', () => {
  it('is held to the rules and the hooks of its name', async () => {
    const seen: string[] = [];
    const hook = defineHook('before_tool', ({ toolName }) => void seen.push(toolName), { matcher: 'add' });
    const code = 'return await tools.add({ a: 1, b: 2 }).catch((error) => error.message);';
    const permissions = { deny: ['fail'] };
    expect(await resultOf(code, { definition: { hooks: [hook], permissions } })).toBe('{"sum":3}');
    expect(seen).toEqual(['add']);
    const denied = 'return typeof tools.fail;';
    expect(await resultOf(denied, { definition: { permissions } })).toBe('undefined');
  });

  it('is refused by a rule with a specifier, and by a rule that the session adds', async () => {
    const lookUp = defineTool({
      name: 'look_up',
      description: 'Looks up a key.',
      inputSchema: { type: 'object', properties: { key: { type: 'string' } } },
      access: (args) => ({ hosts: [`${(args as { readonly key: string }).key}.example`] }),
      execute({ key }) {
        calls.push(`look_up ${key}`);
        return `value of ${key}`;
      },
    });
    const code = `
      const tried = [];
      for (const key of ['open', 'secret']) tried.push(await tools.look_up({ key }).catch(() => 'refused'));
      try {
        tried.push(await tools.add({ a: 1, b: 1 }));
      } catch {
        tried.push('refused');
      }
      return tried;`;
    const definition = { permissions: { allow: ['look_up'], deny: ['look_up(domain:secret.example)'] } };
    const { session, read } = await running(code, { tools: [lookUp, add], definition });
    await session.updatePermissions([{ type: 'addRules', behavior: 'deny', rules: ['add'], destination: 'session' }]);
    await session.prompt('Go.').result;
    expect(JSON.parse(read())).toEqual(['value of open', 'refused', 'refused']);
    expect(calls).toEqual(['look_up open']);
  });

  it('pauses the run for an approval, and the script goes on with the answer', async () => {
    const code = `
      const first = await tools.add({ a: 1, b: 1 });
      return first.sum + (await tools.add({ a: 100, b: 1 })).sum;`;
    const asking = { ...add, approval: (args: unknown) => (args as { readonly a: number }).a > 10 };
    const { session, read } = await running(code, { tools: [asking] });
    const paused = await session.prompt('Go.').result;
    expect(paused).toMatchObject({ status: 'paused', pending: [{ toolName: 'add', arguments: { a: 100, b: 1 } }] });
    expect(calls).toEqual(['1+1']);
    const [question] = paused.pending;
    const { status } = await session.approve(question?.approvalId ?? '').result;
    expect(status).toBe('completed');
    expect(read()).toBe('103');
    expect(calls).toEqual(['1+1', '100+1']);
  });
});

describe('a script that does not do again what the log says it did', () => {
  const limits = { timeoutMs: 1000, memoryBytes: 8 * 1024 * 1024, maxOutputLength: 100, concurrency: 5 };
  const request = (name: string, args: JsonObject) =>
    ({
      system: '',
      tools: [{ name: 'add', description: 'Adds.', inputSchema: {} }],
      messages: [
        { role: 'user', id: 'm1', at: 0, origin: 'prompt', content: [{ type: 'text', text: CODE }] },
        {
          role: 'assistant',
          id: 'm2',
          at: 1,
          provider: 'treadle',
          model: 'quickjs',
          content: [{ type: 'tool_call', callId: 'c1', name, arguments: args }],
          stopReason: 'tool_use',
          usage: UNKNOWN_USAGE,
          cost: 0,
        },
        {
          role: 'tool',
          id: 'm3',
          at: 2,
          callId: 'c1',
          toolName: name,
          content: [{ type: 'text', text: '3' }],
          isError: false,
        },
      ],
    }) satisfies ModelRequest;
  const CODE = 'return await tools.add({ a: 1, b: 2 });';

  const endOf = async (name: string, args: JsonObject) => {
    const events = [];
    const signal = new AbortController().signal;
    for await (const event of scriptModel(limits).stream(request(name, args), signal)) events.push(event);
    return events.at(-1);
  };

  it.each([
    ['other arguments', 'add', { a: 1, b: 3 }],
    ['another tool', 'fail', {}],
  ])('ends with an error for %s', async (_, name, args) => {
    const end = await endOf(name, args);
    expect(end).toMatchObject({ type: 'error', error: { code: 'code_diverged', retryable: false } });
  });

  it('and goes on where it does', async () => {
    // The order of keys says nothing.
    expect(await endOf('add', { b: 2, a: 1 })).toMatchObject({ type: 'finish', stopReason: 'stop' });
  });
});

describe('an agent without tools for scripts', () => {
  it('has no functions for what ends a run or is an agent', () => {
    const end = defineTool({ name: 'end', description: 'Ends.', endsRun: true, execute: () => '' });
    const agent = defineAgent(withCode({ model: scriptedModel([]), tools: [add, end] }));
    expect(agent.tools.get('run_code')?.description).toContain('The functions: add.');
  });
});
