import { trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { scriptedModel } from '@treadle/testing';
import { expect, it, onTestFinished } from 'vitest';

import { runCli } from '../../test-support/harness.ts';

function setUp(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  onTestFinished(() => trace.disable());
  return exporter;
}

const model = () => scriptedModel(['Hello.'], { id: 'small' });

it('treadle run --telemetry traces the run with what the process has set up, without what was said', async () => {
  const exporter = setUp();
  const { code } = await runCli(['Say hello to the moon', '--telemetry'], { model: model() });
  expect(code).toBe(0);
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name }) => name.split(' ')[0])).toEqual(['chat', 'invoke_agent']);
  expect(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))).not.toMatch(/Hello|moon/);
});

it('treadle run traces nothing unless it is asked to', async () => {
  const exporter = setUp();
  await runCli(['Say hello'], { model: model() });
  expect(exporter.getFinishedSpans()).toEqual([]);
});
