import { logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  secretGuard,
  type Tool,
  type TreadleEvent,
} from '../../index.ts';

const KEY = 'k3y.with.dots';
const guard = secretGuard({ secrets: { DEPLOY_KEY: KEY, OTHER_KEY: 'another-secret' } });

async function play(
  script: Parameters<typeof scriptedModel>[0],
  tools: readonly Tool[],
  prompt = 'Go.',
  chunkSize = 3,
) {
  const journal = memoryJournal();
  const model = scriptedModel(script, { chunkSize });
  const session = await createSession(defineAgent({ model: guard.model(model), tools }), {
    journal: guard.journal(journal),
  });
  const events: TreadleEvent[] = [];
  session.subscribe((event) => void events.push(structuredClone(event)));
  const result = await session.prompt(prompt, { metadata: { key: KEY } }).result;
  return { model, result, session, events, log: await logOf(journal, session.id) };
}

describe('R9: a secret stays out of', () => {
  it('R9: the log, the events and what the model is sent, whoever says it', async () => {
    const leak = defineTool({
      name: 'leak',
      description: 'Leaks.',
      execute: (_, context) => {
        context.progress(`with ${KEY}`);
        context.update(`so far ${KEY}`);
        return { content: `It is ${KEY}.`, details: { key: KEY } };
      },
    });
    const fail = defineTool({
      name: 'fail',
      description: 'Fails.',
      execute: () => {
        throw new Error(`401 for ${KEY}`);
      },
    });
    const calls = [{ name: 'leak' }, { name: 'fail', arguments: { [KEY]: KEY } }];
    const script = [{ text: `Key: ${KEY}!`, toolCalls: calls }, `Done with ${KEY}`];
    const { model, result, events, log, session } = await play(
      script,
      [guard.tool(leak), guard.tool(fail)],
      `Use ${KEY}.`,
    );
    expect(result.text).toBe('Done with [secret:DEPLOY_KEY]');
    for (const shown of [log, events, session.messages, result, model.requests])
      expect(JSON.stringify(shown)).not.toContain(KEY);
    const texts = events.flatMap((event) =>
      event.type === 'message_delta' && event.kind === 'text' ? [event.text] : [],
    );
    expect(texts.join('')).toBe('Key: [secret:DEPLOY_KEY]!Done with [secret:DEPLOY_KEY]');
    expect(JSON.stringify(log)).toContain('401 for [secret:DEPLOY_KEY]');
  });

  it('R9: the title that a session is created with', async () => {
    const agent = defineAgent({ model: guard.model(scriptedModel(['Done.'])) });
    const session = await createSession(agent, { journal: guard.journal(memoryJournal()), title: `About ${KEY}` });
    expect(session.title).toBe('About [secret:DEPLOY_KEY]');
  });

  it('R9: what a model streams, however it is cut', async () => {
    for (let chunkSize = 1; chunkSize <= KEY.length + 1; chunkSize += 1) {
      const { events } = await play([`a ${KEY} b`], [], 'Go.', chunkSize);
      const texts = events.flatMap((event) => (event.type === 'message_delta' ? [event.text] : []));
      expect(texts.join('')).toBe('a [secret:DEPLOY_KEY] b');
    }
  });

  it("R9: a provider's error", async () => {
    const error = { kind: 'auth' as const, message: `Invalid key ${KEY}` };
    const { result } = await play([{ error }], []);
    expect(result.message).toBe('Invalid key [secret:DEPLOY_KEY]');
  });
});

describe('a tool that needs a secret', () => {
  const used: unknown[] = [];
  const deploy = defineTool({
    name: 'deploy',
    description: 'Deploys.',
    inputSchema: { type: 'object', properties: { key: { type: 'string', maxLength: 20 } }, required: ['key'] },
    execute: ({ key }) => {
      used.push(key);
      return `Deployed with ${key}.`;
    },
  });

  it('R9: gets it while it runs, and nobody else sees it', async () => {
    const arguments_ = { key: '[secret:DEPLOY_KEY]' };
    const script = [{ toolCalls: [{ name: 'deploy', arguments: arguments_ }] }, 'Done.'];
    const { log } = await play(script, [guard.tool(deploy, ['DEPLOY_KEY'])]);
    expect(used.splice(0)).toEqual([KEY]);
    expect(log.find(({ type }) => type === 'tool_started')).toMatchObject({ arguments: arguments_ });
    expect(JSON.stringify(log)).toContain('Deployed with [secret:DEPLOY_KEY].');
  });

  it('has the rest of its context, the history too', async () => {
    const texts: string[] = [];
    const remember = defineTool({
      name: 'remember',
      description: 'Remembers.',
      execute: async (_, { readHistory, sessionId }) => {
        const found = (await readHistory?.('input_3')) ?? [];
        texts.push(sessionId, JSON.stringify(found));
        return 'ok';
      },
    });
    const { session } = await play(
      [{ toolCalls: [{ name: 'remember' }] }, 'Done.'],
      [guard.tool(remember)],
      `Is it ${KEY}?`,
    );
    expect(texts[0]).toBe(session.id);
    expect(texts[1]).toContain('Is it [secret:DEPLOY_KEY]?');
  });

  it('gets no other one, and none unless it is said', async () => {
    const call = (key: string) => [{ toolCalls: [{ name: 'deploy', arguments: { key } }] }, 'Done.'];
    await play(call('[secret:OTHER_KEY]'), [guard.tool(deploy, ['DEPLOY_KEY'])]);
    await play(call('[secret:X]'), [guard.tool(deploy)]);
    expect(used.splice(0)).toEqual(['[secret:OTHER_KEY]', '[secret:X]']);
  });
});

describe('a placeholder of a secret that a tool is not given', () => {
  const write = (): { readonly tool: Tool; readonly written: string[] } => {
    const written: string[] = [];
    const tool = defineTool({
      name: 'write',
      description: 'Writes.',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      execute({ text }) {
        written.push(text);
        return 'Written.';
      },
    });
    return { tool, written };
  };
  const call = { toolCalls: [{ name: 'write', arguments: { text: 'A=[secret:DEPLOY_KEY] B=[secret:OTHER_KEY]' } }] };

  it('is left as it is, or refused with a reason, as the wrapping says', async () => {
    const kept = write();
    await play([call, 'Done.'], [guard.tool(kept.tool, ['DEPLOY_KEY'])]);
    expect(kept.written).toEqual([`A=${KEY} B=[secret:OTHER_KEY]`]);
    const strict = write();
    const guarded = guard.tool(strict.tool, ['DEPLOY_KEY'], { unrevealed: 'refuse' });
    const { log } = await play(
      [call, { toolCalls: [{ name: 'write', arguments: { text: 'plain' } }] }, 'Done.'],
      [guarded],
    );
    expect(strict.written).toEqual(['plain']);
    const [rejected] = log.filter((event) => event.type === 'tool_call_rejected');
    expect(rejected).toMatchObject({ reason: 'invalid_arguments' });
    expect(JSON.stringify(rejected)).toContain(
      '[secret:OTHER_KEY], which stands for a value that this tool is not given',
    );
    expect(JSON.stringify(rejected)).not.toContain('[secret:DEPLOY_KEY], ');
  });
});

it('a guarded tool is told all that a tool is told', async () => {
  let told: readonly string[] = [];
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    execute(_, context) {
      told = Object.keys(context).toSorted();
      return 'Looked.';
    },
  });
  await play([{ toolCalls: [{ name: 'look' }] }, 'Done.'], [look]);
  const plain = told;
  await play([{ toolCalls: [{ name: 'look' }] }, 'Done.'], [guard.tool(look)]);
  expect(told).toEqual(plain);
  expect(plain).toContain('lastRead');
});
