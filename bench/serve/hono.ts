// Servers that write given bytes at the same ticks and know nothing of agents: the floor of the `serve` metric.

import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { stream } from 'hono/streaming';
import type { Contestant } from './contestant.ts';
import type { ServerJob } from './job.ts';
import { createPace } from './pace.ts';

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };

/** What a stream says before anything happens, so that its client knows that it is there. */
const HELLO = ':\n\n';

/** With the helper of Hono's documentation: a loop per stream. */
function byHelper({ frames }: ServerJob): { readonly app: Hono; go(): void } {
  const app = new Hono();
  const pace = createPace();
  app.get('/stream', (context) => {
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
    return stream(context, async (out) => {
      await out.write(HELLO);
      while (!out.aborted) {
        for (const frame of frames) {
          await pace.next();
          await out.write(frame);
        }
        if (frames.length === 0) await pace.next();
      }
    });
  });
  let left = 0;
  void (async () => {
    for (;;) {
      await pace.next();
      left -= 1;
      if (left === 0) pace.stop();
    }
  })();
  return {
    app,
    go() {
      left = frames.length;
      pace.go();
    },
  };
}

/** With a body of its own for each response, and one loop over all of them: the least that keeps to `fetch`. */
function byBody({ frames }: ServerJob): { readonly app: Hono; go(): void } {
  const app = new Hono();
  const encoder = new TextEncoder();
  const open = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const bytes = frames.map((frame) => encoder.encode(frame));
  let at = 0;
  const pace = createPace(() => {
    const frame = bytes[at] ?? new Uint8Array();
    at += 1;
    for (const controller of open) controller.enqueue(frame);
    if (at === frames.length) pace.stop();
  });
  app.get('/stream', () => {
    let own: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
        open.add(own);
        own.enqueue(encoder.encode(HELLO));
      },
      cancel: () => void open.delete(own),
    });
    return new Response(body, { headers: HEADERS });
  });
  return {
    app,
    go() {
      at = 0;
      pace.go();
    },
  };
}

export async function hono(job: ServerJob): Promise<Contestant> {
  const { app, go } = job.server === 'hono-helper' ? byHelper(job) : byBody(job);
  const port = await new Promise<number>((resolve) => {
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false }, (info) =>
      resolve(info.port),
    );
  });
  return { ready: { port, token: 'none', paths: ['/stream'] }, begin: async () => {}, go, ended: async () => {} };
}
