import type { Session } from '@treadle/core';
import type { Route } from '@treadle/server';

/** The metrics of sessions, kept in this process, and the route that shows them. */
export interface ServedMetrics {
  readonly onSession: (session: Session) => () => void;
  readonly route: Route;
}

/** Counts tokens, durations and costs as `@treadle/otel` does, and shows them to Prometheus at `GET /metrics`. */
export async function servedMetrics(): Promise<ServedMetrics> {
  const { PrometheusExporter, PrometheusSerializer } = await import('@opentelemetry/exporter-prometheus');
  const { MeterProvider } = await import('@opentelemetry/sdk-metrics');
  const { traceSession } = await import('@treadle/otel');
  // It has a server of its own, which is not started: ours asks for the token.
  const reader = new PrometheusExporter({ preventServerStart: true });
  const meter = new MeterProvider({ readers: [reader] }).getMeter('treadle');
  const serializer = new PrometheusSerializer();
  return {
    onSession: (session) => traceSession(session, { meter }),
    route: {
      method: 'get',
      path: '/metrics',
      id: 'readMetrics',
      summary: 'Tokens, durations and costs of model calls, as Prometheus reads them.',
      success: { status: 200, description: 'The text format of Prometheus.', contentType: 'text/plain' },
      async handle() {
        const { resourceMetrics } = await reader.collect();
        return new Response(serializer.serialize(resourceMetrics), {
          headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
        });
      },
    },
  };
}

/** Watches a session in each of these ways. */
export const watchedBy =
  (watchers: readonly ((session: Session) => () => void)[]) =>
  (session: Session): (() => void) => {
    const stops = watchers.map((watch) => watch(session));
    return () => {
      for (const stop of stops) stop();
    };
  };
