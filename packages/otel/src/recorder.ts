import { TreadleError } from '@treadle/core';
import type { Redactor } from '@treadle/core/features';
import {
  context as contexts,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type HrTime,
  type Link,
  type Meter,
  type Span,
  type Tracer,
  INVALID_SPAN_CONTEXT,
} from '@opentelemetry/api';
import {
  attributesOf,
  DURATION_BOUNDS,
  inputTokens,
  TOKEN_BOUNDS,
  type ConventionsVersion,
  type Facts,
} from './conventions.ts';

/** Options of `traceSession`. */
export interface TelemetryOptions {
  /** Absent: no spans. */
  readonly tracer?: Tracer;
  /** Absent: no metrics. */
  readonly meter?: Meter;
  /** Whether prompts, replies, arguments and results are recorded. Default false; needs conventions 1.41. */
  readonly content?: boolean;
  /** Default `1.41`. */
  readonly conventions?: ConventionsVersion;
  /** What every text goes through before it leaves. */
  readonly redactor?: Redactor;
  /** Where runs belong. Default: the context that is active when a run's first event comes. */
  readonly parent?: Context;
}

/** A span that hasn't ended, and what is known of it. */
export interface OpenSpan {
  readonly span: Span;
  readonly context: Context;
  readonly startedAt: number;
  /** What its metrics say too. */
  facts: Facts;
}

export type Recorder = ReturnType<typeof createRecorder>;

/** Numbers that are before this process began would be taken for the time since then, so times are given in full. */
const timeOf = (at: number): HrTime => [Math.floor(at / 1000), Math.round((at % 1000) * 1e6)];

const subjectOf = (facts: Facts): string | undefined =>
  facts.operation === 'chat' ? facts.requestModel : facts.operation === 'invoke_agent' ? facts.agentId : facts.toolName;

const nameOf = (facts: Facts): string => [facts.operation, subjectOf(facts)].filter(Boolean).join(' ');

function instrumentsOf(meter: Meter) {
  return {
    tokens: meter.createHistogram('gen_ai.client.token.usage', {
      unit: '{token}',
      description: 'Tokens of a model call, by type.',
      advice: { explicitBucketBoundaries: TOKEN_BOUNDS },
    }),
    duration: meter.createHistogram('gen_ai.client.operation.duration', {
      unit: 's',
      description: 'How long an operation took.',
      advice: { explicitBucketBoundaries: DURATION_BOUNDS },
    }),
    cost: meter.createHistogram('treadle.client.cost', {
      unit: '{USD}',
      description: 'What a model call cost, where its price is known.',
      advice: { explicitBucketBoundaries: [0.0001, 0.001, 0.01, 0.1, 1, 10, 100] },
    }),
  };
}

/** The only place that speaks to OpenTelemetry. */
export function createRecorder(options: TelemetryOptions) {
  const { tracer, content = false, conventions = '1.41', redactor } = options;
  if (content && conventions === '1.36') {
    throw new TreadleError('invalid_definition', 'Content is recorded by conventions 1.41 only: name that version.');
  }
  const instruments = options.meter ? instrumentsOf(options.meter) : null;
  const clean = (text: string): string => (redactor ? redactor.redact(text) : text);
  const write = (facts: Facts) => attributesOf(facts, conventions, clean);

  function measure(facts: Facts, seconds: number): void {
    if (!instruments) return;
    const { operation, provider, requestModel, responseModel, errorType, usage, cost } = facts;
    const model = { operation, provider, requestModel, responseModel };
    instruments.duration.record(seconds, write({ ...model, errorType }));
    if (operation !== 'chat') return;
    const counts = { input: usage && inputTokens(usage), output: usage?.output ?? undefined };
    for (const tokenType of ['input', 'output'] as const) {
      const count = counts[tokenType];
      if (count !== undefined) instruments.tokens.record(count, write({ ...model, tokenType }));
    }
    if (cost !== undefined) instruments.cost.record(cost, write(model));
  }

  return {
    content,
    root: (): Context => options.parent ?? contexts.active(),
    start(facts: Facts, at: number, parent: Context, links: readonly Link[] = []): OpenSpan {
      const kind = facts.operation === 'chat' ? SpanKind.CLIENT : SpanKind.INTERNAL;
      const settings = { kind, startTime: timeOf(at), attributes: write(facts), links: [...links] };
      const span =
        tracer?.startSpan(clean(nameOf(facts)), settings, parent) ?? trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
      return { span, context: trace.setSpan(parent, span), startedAt: at, facts };
    },
    event(open: OpenSpan, name: string, facts: Facts, at: number): void {
      open.span.addEvent(name, write(facts), timeOf(Math.max(at, open.startedAt)));
    },
    end(open: OpenSpan, facts: Facts, at: number): void {
      const all = { ...open.facts, ...facts };
      const endedAt = Math.max(at, open.startedAt);
      open.span.setAttributes(write(all));
      open.span.updateName(clean(nameOf(all)));
      if (all.errorType !== undefined) open.span.setStatus({ code: SpanStatusCode.ERROR });
      open.span.end(timeOf(endedAt));
      measure(all, (endedAt - open.startedAt) / 1000);
    },
  };
}
