import type { Session } from '@treadle/core';

/**
 * Traces sessions with the tracer and the meter of `@opentelemetry/api`: those that whoever started this process has set up, such
 * as with `NODE_OPTIONS="--import ./telemetry.mjs"`. Where nothing is set up, nothing is recorded.
 */
export async function telemetry(): Promise<(session: Session) => () => void> {
  const { globalTelemetry, traceSession } = await import('@treadle/otel');
  const options = globalTelemetry('treadle');
  return (session) => traceSession(session, options);
}
