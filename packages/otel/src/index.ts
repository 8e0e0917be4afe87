import { metrics, trace } from '@opentelemetry/api';
import { isDurable, type Session, type TreadleEvent } from '@treadle/core';
import { createRecorder, type OpenSpan, type TelemetryOptions } from './recorder.ts';
import { sessionSpans, type Asked, type SessionSpans } from './session-spans.ts';

export type { ConventionsVersion } from './conventions.ts';
export type { TelemetryOptions } from './recorder.ts';
export type { Asked } from './session-spans.ts';

/**
 * The tracer and the meter that this process has set up with `@opentelemetry/api`, under the name of an application. Where
 * nothing is set up, they record nothing.
 */
export const globalTelemetry = (name: string): TelemetryOptions => ({
  tracer: trace.getTracer(name),
  meter: metrics.getMeter(name),
});

/** Writes events as spans and metrics. */
export interface TelemetryObserver {
  /** The next event of the session, in order. What is live is passed over, but for events of sub-agents. */
  observe(event: TreadleEvent): void;
  /** Ends every span that is open. Nothing may be observed after it. */
  end(): void;
}

/**
 * An observer of one session's events, wherever they come from: a session, a server's stream, a log that is read again.
 * Times are those of the events.
 *
 * @param asked what to say of the agent when the start of a run was not among the events
 * @throws TreadleError `invalid_definition` when content is wanted from conventions that have no place for it.
 */
export function telemetryObserver(sessionId: string, options: TelemetryOptions, asked?: Asked): TelemetryObserver {
  const recorder = createRecorder(options);
  const sessions = new Map<string, SessionSpans>();
  /** The calls under which sub-agents' sessions run. */
  const calls = new Map<string, OpenSpan>();

  const spansOf = (id: string): SessionSpans => {
    const known = sessions.get(id);
    if (known) return known;
    const parentOf = (): OpenSpan['context'] => calls.get(id)?.context ?? recorder.root();
    const onChild = (child: string, call: OpenSpan): unknown => calls.set(child, call);
    const spans = sessionSpans(id, { recorder, parentOf, onChild, ...(asked && id === sessionId ? { asked } : {}) });
    sessions.set(id, spans);
    return spans;
  };

  /** Sub-agents end before who called them does; what they left open ends with it. */
  function endChildren(reason: string): void {
    for (const [id, spans] of sessions) {
      if (id === sessionId) continue;
      spans.close(reason);
      sessions.delete(id);
    }
    calls.clear();
  }

  return {
    observe(event) {
      if (event.type === 'child_event') {
        if (isDurable(event.event)) spansOf(event.sessionId).take(event.event);
        return;
      }
      if (!isDurable(event)) return;
      if (event.type === 'run_ended' || event.type === 'drive_started') endChildren('interrupted');
      spansOf(sessionId).take(event);
    },
    end() {
      endChildren('unobserved');
      spansOf(sessionId).close('unobserved');
    },
  };
}

/**
 * Traces what a session does from now on, here: a span per run, per model call and per tool call, those of sub-agents below
 * the calls that started them, and metrics of each. Content is left out unless it is asked for.
 *
 * @returns a function that stops it and ends every span that is open
 * @throws TreadleError `invalid_definition` when content is wanted from conventions that have no place for it.
 * @example
 * ```ts
 * import { metrics, trace } from '@opentelemetry/api';
 * import { createSession, defineAgent } from '@treadle/core';
 * import { traceSession } from '@treadle/otel';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const session = await createSession(defineAgent({ model: scriptedModel(['Good morning.']) }));
 * const stop = traceSession(session, { tracer: trace.getTracer('app'), meter: metrics.getMeter('app') });
 * await session.prompt('Hello').result;
 * stop();
 * ```
 */
export function traceSession(session: Session, options: TelemetryOptions): () => void {
  const { agent } = session;
  const observer = telemetryObserver(session.id, options, { agentId: agent.id, models: agent.models });
  const unsubscribe = session.subscribe(observer.observe);
  return () => {
    unsubscribe();
    observer.end();
  };
}
