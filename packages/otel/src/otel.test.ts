import {
  InMemoryMetricExporter,
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import {
  asTool,
  createSession,
  defineAgent,
  defineTool,
  isDurable,
  memoryJournal,
  openSession,
  type Agent,
  type DurableEvent,
  type Session,
  type TreadleEvent,
} from '@treadle/core';
import { createRedactor } from '@treadle/core/features';
import { logOf, scriptedModel, testClock, type Turn } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { telemetryObserver, traceSession, type TelemetryOptions } from './index.ts';

function exporters() {
  const exporter = new InMemorySpanExporter();
  let started = 0;
  const counter = {
    onStart: () => void (started += 1),
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const provider = new BasicTracerProvider({ spanProcessors: [counter, new SimpleSpanProcessor(exporter)] });
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: metrics })] });
  return {
    options: { tracer: provider.getTracer('test'), meter: meters.getMeter('test') } satisfies TelemetryOptions,
    spans: () => exporter.getFinishedSpans(),
    started: () => started,
    async metric(name: string) {
      await meters.forceFlush();
      const all =
        metrics
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return all.find((metric) => metric.descriptor.name === name);
    },
  };
}

const named = (spans: readonly ReadableSpan[], name: string): ReadableSpan => {
  const found = spans.find((span) => span.name === name);
  if (!found) throw new Error(`No span ${name} among ${spans.map((span) => span.name).join(', ')}`);
  return found;
};
const parentOf = (spans: readonly ReadableSpan[], span: ReadableSpan): string | undefined =>
  spans.find((other) => other.spanContext().spanId === span.parentSpanContext?.spanId)?.name;
const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId;

const usage = { input: 100, output: 20, cacheRead: 50, cacheWrite: null, reasoning: null };
const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'a secret garden' });
const ask = defineTool({ name: 'ask', description: 'Asks.', runs: 'client' });
const twoCalls: Turn = { toolCalls: [{ name: 'look' }, { name: 'look' }], usage };

const agentOf = (turns: readonly (Turn | string)[], more: Partial<Parameters<typeof defineAgent>[0]> = {}): Agent =>
  defineAgent({
    id: 'gardener',
    model: scriptedModel(turns, { provider: 'xai', id: 'grok' }),
    tools: [look, ask],
    ...more,
  });

async function traced(agent: Agent, more: Partial<TelemetryOptions> = {}, prompt = 'Go.') {
  const out = exporters();
  const session = await createSession(agent, { id: 's1' });
  traceSession(session, { ...out.options, ...more });
  const result = await session.prompt(prompt).result;
  return { ...out, session, result, all: out.spans() };
}

describe('the spans of a run', () => {
  it('are an agent, its model calls and its tool calls, with the names and attributes of the conventions', async () => {
    const { all, result } = await traced(agentOf([twoCalls, { text: 'Done.', usage }]));

    expect(all.map((span) => [span.name, parentOf(all, span)])).toEqual([
      ['chat grok', 'invoke_agent gardener'],
      ['execute_tool look', 'invoke_agent gardener'],
      ['execute_tool look', 'invoke_agent gardener'],
      ['chat grok', 'invoke_agent gardener'],
      ['invoke_agent gardener', undefined],
    ]);
    const chat = named(all, 'chat grok');
    expect(chat.kind).toBe(SpanKind.CLIENT);
    expect(chat.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'x_ai',
      'gen_ai.request.model': 'grok',
      'gen_ai.response.model': 'grok',
      'gen_ai.response.finish_reasons': ['tool_use'],
      'gen_ai.usage.input_tokens': 150,
      'gen_ai.usage.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 50,
      'gen_ai.conversation.id': 's1',
      'gen_ai.agent.id': 'gardener',
      'gen_ai.agent.name': 'gardener',
      'treadle.run.id': result.runId,
      'treadle.turn.index': 0,
      'treadle.attempt': 1,
    });
    expect(named(all, 'execute_tool look').attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.type': 'function',
    });
    const calls = all.map((span) => span.attributes['gen_ai.tool.call.id']).filter((id) => id !== undefined);
    expect(new Set(calls).size).toBe(2);
    const run = named(all, 'invoke_agent gardener');
    expect(run.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 300,
      'treadle.run.status': 'completed',
      'treadle.run.turns': 2,
    });
    expect(run.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('have the names of the version that was asked for', async () => {
    const { all } = await traced(agentOf([{ text: 'Done.', usage }]), { conventions: '1.36' });
    const { attributes } = named(all, 'chat grok');
    expect(attributes).toMatchObject({ 'gen_ai.system': 'xai' });
    expect(attributes).not.toHaveProperty('gen_ai.provider.name');
    expect(attributes).not.toHaveProperty(['gen_ai.usage.cache_read.input_tokens']);
  });

  it('have the times of the events, also of times before the process began', async () => {
    const out = exporters();
    const clock = testClock(5_000);
    const session = await createSession(agentOf([twoCalls, 'Done.']), { id: 's1', clock });
    traceSession(session, out.options);
    await session.prompt('Go.').result;
    for (const span of out.spans())
      expect([span.startTime, span.endTime]).toEqual([
        [5, 0],
        [5, 0],
      ]);
  });

  it('say what failed: retries are events of the one model call', async () => {
    const failing: Turn = { error: { status: 503, message: 'Try with key-of-mine' } };
    const more = { retry: { maxRetries: 1, baseDelayMs: 0, maxDelayMs: 0 } };
    const { all } = await traced(agentOf([failing, { text: 'Done.', usage }], more));
    const chat = named(all, 'chat grok');
    expect(all.filter((span) => span.name === 'chat grok')).toHaveLength(1);
    expect(chat.events.map((event) => [event.name, event.attributes])).toEqual([
      ['treadle.attempt_failed', { 'treadle.attempt': 1, 'error.type': '503', 'treadle.retry.delay_ms': 0 }],
    ]);
    expect(chat.attributes).toMatchObject({ 'treadle.attempt': 2, 'gen_ai.usage.input_tokens': 150 });
    expect(chat.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('end as errors when the model gives up, without the words of the error', async () => {
    const { all } = await traced(agentOf([{ error: { status: 400, message: 'no such key-of-mine' } }]));
    for (const name of ['chat grok', 'invoke_agent gardener']) {
      const span = named(all, name);
      expect(span.attributes['error.type']).toBe('400');
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
    }
    expect(JSON.stringify(all.map((span) => [span.attributes, span.events]))).not.toContain('key-of-mine');
  });

  it('end with a run that is aborted', async () => {
    const out = exporters();
    let stop = (): void => undefined;
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      execute: (_, { signal }) =>
        new Promise<string>((resolve) => {
          signal.addEventListener('abort', () => resolve('stopped'), { once: true });
          stop();
        }),
    });
    const session = await createSession(agentOf([{ toolCalls: [{ name: 'wait' }] }], { tools: [wait] }), { id: 's1' });
    traceSession(session, out.options);
    const run = session.prompt('Go.');
    stop = () => void run.abort();
    await run.result;
    expect(named(out.spans(), 'invoke_agent gardener').attributes).toMatchObject({
      'error.type': 'aborted',
      'treadle.run.status': 'aborted',
    });
    expect(named(out.spans(), 'execute_tool wait').ended).toBe(true);
    expect(out.spans()).toHaveLength(out.started());
  });

  it('of a sub-agent are below the call that started it', async () => {
    const reader = defineAgent({ id: 'reader', model: scriptedModel(['About tides.'], { id: 'small' }) });
    const call = { name: 'reader', arguments: { prompt: 'Read.' } };
    const tools = [asTool(reader, { description: 'Reads.' })];
    const { all } = await traced(agentOf([{ toolCalls: [call] }, 'Done.'], { tools }));
    expect(parentOf(all, named(all, 'chat small'))).toBe('invoke_agent reader');
    expect(parentOf(all, named(all, 'invoke_agent reader'))).toBe('execute_tool reader');
    expect(parentOf(all, named(all, 'execute_tool reader'))).toBe('invoke_agent gardener');
    expect(new Set(all.map((span) => span.spanContext().traceId)).size).toBe(1);
  });
});

describe('a background task', () => {
  it('is a span of its own, linked to the call that began it', async () => {
    const build = defineTool({ name: 'build', description: 'Builds.', background: true, execute: () => 'Built.' });
    const call = { name: 'build', arguments: { run_in_background: true } };
    const more = { tools: [build], background: { atEnd: 'wait' } } as const;
    const { all, started } = await traced(agentOf([{ toolCalls: [call] }, 'Begun.', 'Built.'], more));
    const task = all.find((span) => span.attributes['treadle.task.id'] !== undefined);
    const begun = all.map((span) => span.spanContext().spanId);
    expect(task?.name).toBe('execute_tool build');
    expect(task?.parentSpanContext).toBeUndefined();
    expect(begun).toContain(task?.links[0]?.context.spanId);
    expect(all).toHaveLength(started());
  });
});

describe('a run that pauses', () => {
  const turns: readonly (Turn | string)[] = [{ toolCalls: [{ name: 'ask' }] }, 'Done.'];
  const answer = (session: Session) =>
    session.addToolOutputs(session.pending.map(({ callId }) => ({ callId, content: 'Yes.' }))).result;

  it('goes on in a span that is linked to the one before', async () => {
    const { session, spans, started } = await traced(agentOf(turns));
    expect(spans().map((span) => span.name)).toEqual(['chat grok', 'invoke_agent gardener']);
    expect(named(spans(), 'invoke_agent gardener').attributes['treadle.run.paused']).toBe('client_tools');
    await answer(session);
    const [first, second] = spans().filter((span) => span.name === 'invoke_agent gardener');
    expect(second?.links.map((link) => link.context.spanId)).toEqual([idOf(first)]);
    expect(second?.attributes).toMatchObject({ 'treadle.run.continued': true, 'treadle.run.status': 'completed' });
    expect(named(spans(), 'execute_tool ask').attributes['treadle.tool']).toBe('client');
    expect(spans()).toHaveLength(started());
  });

  it('goes on in another process under the same run and conversation', async () => {
    const journal = memoryJournal();
    const before = await createSession(agentOf(turns), { id: 's1', journal });
    const { runId } = await before.prompt('Go.').result;

    const out = exporters();
    const after = await openSession(agentOf(['Done.']), 's1', { journal });
    traceSession(after, out.options);
    await answer(after);
    expect(out.spans().map((span) => span.name)).toEqual(['execute_tool ask', 'chat grok', 'invoke_agent gardener']);
    expect(named(out.spans(), 'invoke_agent gardener').attributes).toMatchObject({
      'gen_ai.conversation.id': 's1',
      'gen_ai.provider.name': 'x_ai',
      'treadle.run.id': runId,
      'treadle.run.continued': true,
    });
  });
});

describe('content', () => {
  const turns: readonly (Turn | string)[] = [
    { toolCalls: [{ name: 'look', arguments: { at: 'roses' } }] },
    'They bloom.',
  ];
  const words = ['What of it', 'roses', 'secret garden', 'They bloom'];
  const textOf = (spans: readonly ReadableSpan[]) =>
    JSON.stringify(spans.map((span) => [span.name, span.attributes, span.events, span.status]));

  it('is left out unless it is asked for', async () => {
    const { all } = await traced(agentOf(turns), {}, 'What of it?');
    for (const word of words) expect(textOf(all)).not.toContain(word);
  });

  it('is recorded in the form of the conventions when it is, with secrets redacted', async () => {
    const redactor = createRedactor({ GARDEN: 'secret garden' });
    const { all } = await traced(agentOf(turns), { content: true, redactor }, 'What of it?');
    const chats = all.filter((span) => span.name === 'chat grok');
    const read = (span: ReadableSpan | undefined, name: string): unknown => JSON.parse(String(span?.attributes[name]));
    expect(read(chats[0], 'gen_ai.input.messages')).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'What of it?' }] },
    ]);
    expect(read(chats[1], 'gen_ai.output.messages')).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'They bloom.' }], finish_reason: 'stop' },
    ]);
    const tool = named(all, 'execute_tool look');
    expect(read(tool, 'gen_ai.tool.call.arguments')).toEqual({ at: 'roses' });
    expect(read(tool, 'gen_ai.tool.call.result')).toEqual([{ type: 'text', content: 'a [secret:GARDEN]' }]);
    expect(textOf(all)).not.toContain('secret garden');
  });

  it('is refused where the version has no place for it', () => {
    const wanted = { ...exporters().options, content: true, conventions: '1.36' } as const;
    expect(() => telemetryObserver('s1', wanted)).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
  });
});

describe('metrics', () => {
  it('count tokens by type, the time of each operation, and cost', async () => {
    const model = scriptedModel([twoCalls, { text: 'Done.', usage }], {
      provider: 'xai',
      id: 'grok',
      cost: () => 0.25,
    });
    const { metric } = await traced(agentOf([], { model }));
    const sums = async (name: string, by: string) =>
      (await metric(name))?.dataPoints.map(({ attributes, value }) => [
        attributes[by],
        (value as { count: number }).count,
        (value as { sum: number }).sum,
      ]);
    expect(await sums('gen_ai.client.token.usage', 'gen_ai.token.type')).toEqual([
      ['input', 2, 300],
      ['output', 2, 40],
    ]);
    expect(await sums('treadle.client.cost', 'gen_ai.provider.name')).toEqual([['x_ai', 2, 0.5]]);
    const durations = await sums('gen_ai.client.operation.duration', 'gen_ai.operation.name');
    expect(durations?.map(([operation, count]) => [operation, count])).toEqual([
      ['chat', 2],
      ['execute_tool', 2],
      ['invoke_agent', 1],
    ]);
  });
});

describe('what was opened', () => {
  it('ends when another drive takes over, and the run goes on in a linked span', async () => {
    const journal = memoryJournal();
    const session = await createSession(agentOf([twoCalls, 'Done.']), { id: 's1', journal });
    await session.prompt('Go.').result;
    const log = await logOf(journal, 's1');
    const cut = log.findIndex((event) => event.type === 'tool_started') + 1;
    const takeover = { type: 'drive_started', epoch: 9, owner: 'other', at: Date.now(), seq: 0 } as const;
    const out = exporters();
    const observer = telemetryObserver('s1', out.options);
    for (const event of [...log.slice(0, cut), takeover, ...log.slice(cut)]) observer.observe(event);
    const [dead, next] = out.spans().filter((span) => span.name === 'invoke_agent gardener');
    expect(dead?.attributes['error.type']).toBe('interrupted');
    expect(named(out.spans(), 'execute_tool look').attributes['error.type']).toBe('interrupted');
    expect(next?.links.map((link) => link.context.spanId)).toEqual([idOf(dead)]);
    expect(out.spans()).toHaveLength(out.started());
  });

  it('ends when nobody looks any more', async () => {
    const out = exporters();
    const session = await createSession(agentOf(['Done.']), { id: 's1' });
    const stop = traceSession(session, out.options);
    session.subscribe((event) => event.type === 'turn_started' && stop());
    await session.prompt('Go.').result;
    expect(out.spans().map((span) => span.attributes['error.type'])).toEqual(['unobserved', 'unobserved']);
  });

  it('has ended after every run_ended, whatever is missing from the events', async () => {
    const reader = defineAgent({ id: 'reader', model: scriptedModel(() => 'Read.') });
    const tools = [look, ask, asTool(reader, { description: 'Reads.' })];
    const calls = [{ name: 'look' }, { name: 'reader', arguments: { prompt: 'Read.' } }, { name: 'nothing' }];
    const failing: Turn = { error: { status: 503 } };
    const retry = { maxRetries: 1, baseDelayMs: 0, maxDelayMs: 0 };
    const agent = agentOf([{ toolCalls: calls }, failing, { toolCalls: [{ name: 'ask' }] }, 'Done.'], { tools, retry });
    const session = await createSession(agent, { id: 's1' });
    const events: TreadleEvent[] = [];
    session.subscribe((event) => events.push(event));
    await session.prompt('Go.').result;
    await session.addToolOutputs(session.pending.map(({ callId }) => ({ callId, content: 'Yes.' }))).result;
    expect(events.filter((event) => event.type === 'child_event' && isDurable(event.event)).length).toBeGreaterThan(3);

    const last = events.at(-1) as DurableEvent;
    expect(events.filter((event) => event.type === 'run_ended')).toEqual([last]);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: events.length - 2 }), { maxLength: 12 }), (missing) => {
        const out = exporters();
        const observer = telemetryObserver('s1', out.options);
        for (const [index, event] of events.entries()) if (!missing.includes(index)) observer.observe(event);
        expect(out.spans()).toHaveLength(out.started());
        expect(out.started()).toBeGreaterThan(0);
      }),
      { numRuns: 100 },
    );
  });
});
