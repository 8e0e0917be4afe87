import { createSession, defineAgent } from '@treadle/core';
import type { Http, ModelErrorKind, RunResult, TreadleEvent } from '@treadle/core';
import { testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { ModelOptions } from '../deployments/deployment.ts';
import { nodeHttp } from '../http/node-http.ts';
import { bytesOf, isSse, until } from '../test-support/faults.ts';
import { beginStream, serve } from '../test-support/servers.ts';
import { TEST_KEY, TEST_WIRES, type TestWire } from '../test-support/wires.ts';
import { resolveModel } from '../deployments.ts';

// Servers that say that they are there, and nothing else. The sockets are real, and the time is the test's.

const TIMEOUT = 120_000;
const TEXT = 'Twenty-eight letters in here.';

/** What each server may write to keep a connection. */
const PINGS: readonly [name: string, ping: string][] = [
  ['comments', ': still here\n\n'],
  ['ping events', 'event: ping\ndata: {"type":"ping"}\n\n'],
  ['keepalive events', 'event: keepalive\ndata: {"type":"keepalive"}\n\n'],
];

interface Scene {
  readonly result: RunResult;
  /** Milliseconds that passed by the clock. */
  readonly waited: number;
}

/**
 * A run whose answer begins, and goes on after so many pings, one a minute. What it says in between are the ping's bytes,
 * cut into pieces of `size`.
 */
async function pinged(
  wire: TestWire,
  ping: string,
  { count, size = 1000, ...options }: ModelOptions & { readonly count: number; readonly size?: number },
): Promise<Scene> {
  const clock = testClock(0);
  const body = await bytesOf(wire, { text: TEXT, chunkSize: 7 });
  // After the event that has the first letters.
  const half = (/^[^]*?Twenty.*\r?\n\r?\n/.exec(body.toString())?.[0] ?? '').length;
  let goOn = (): void => {};
  let write = (_bytes: Uint8Array | string): void => {};
  await using server = await serve((request, response) => {
    request.resume().on('end', () => {
      beginStream(response).write(body.subarray(0, half));
      write = (bytes) => void response.write(bytes);
      goOn = () => void response.end(body.subarray(half));
    });
  });
  let bytes = 0;
  const counted =
    (http: Http): Http =>
    async (request) => {
      const response = await http(request);
      const source = response.body[Symbol.asyncIterator]();
      const next: typeof source.next = async () => {
        const result = await source.next();
        if (result.done !== true) bytes += result.value.length;
        return result;
      };
      const iterator = { next, return: () => source.return?.() ?? Promise.resolve({ done: true, value: undefined }) };
      return { ...response, body: { [Symbol.asyncIterator]: () => iterator as AsyncIterator<Uint8Array> } };
    };
  const model = resolveModel(`${wire.name}/model-1`, {
    apiKey: TEST_KEY,
    baseUrl: server.url,
    env: {},
    clock,
    http: counted(nodeHttp({ clock, env: {} })),
    ...options,
  });
  const session = await createSession(defineAgent({ model, retry: { maxRetries: 0 } }), { clock });
  const events: TreadleEvent[] = [];
  session.subscribe((event) => events.push(event));
  const run = session.prompt('Go.');
  let over = false;
  const result = run.result.finally(() => (over = true));
  await until(() => bytes >= half);
  for (let at = 0; at < count && !over; at++) {
    await clock.advance(60_000);
    if (over || ((at + 1) * 60_000 >= TIMEOUT && options.pingsResetIdleTimeout !== true)) break;
    const expected = bytes + ping.length;
    for (let from = 0; from < ping.length; from += size) {
      const before = bytes;
      write(ping.slice(from, from + size));
      await until(() => over || bytes > before);
    }
    await until(() => over || bytes >= expected);
  }
  if (!over) goOn();
  const scene = { result: await result, waited: clock.now() };
  // I4: given up, it is hung up; a connection whose answer came to its end is kept for the next.
  if (scene.result.status !== 'completed') await server.allClosed();
  return scene;
}

const IDLE: { readonly kind: ModelErrorKind; readonly code: string } = {
  kind: 'network',
  code: 'TREADLE_IDLE_TIMEOUT',
};

describe.each(TEST_WIRES.filter(isSse))('on $name', (wire) => {
  describe.each(PINGS)('%s', (_name, ping) => {
    it('P19: do not begin the idle timeout anew, however they are cut', async () => {
      for (const size of [1000, 5]) {
        const { result, waited } = await pinged(wire, ping, { count: 5, size });
        expect(result).toMatchObject({ status: 'model_error', error: { ...IDLE, retryable: true } });
        expect(result.finalMessage).toMatchObject({ stopReason: 'error', content: [{ text: TEXT.slice(0, 7) }] });
        expect(waited).toBe(TIMEOUT);
      }
    });

    it('P19: begin it anew where that is configured', async () => {
      const { result, waited } = await pinged(wire, ping, { count: 5, pingsResetIdleTimeout: true });
      expect(result).toMatchObject({ status: 'completed', text: TEXT });
      expect(waited).toBe(5 * 60_000);
      expect(result.finalMessage?.unknownTypes).toBeUndefined();
    });
  });

  it('P19: an answer that goes on in time is whole, with pings in between', async () => {
    const { result, waited } = await pinged(wire, ': still here\n\n', { count: 1 });
    expect(result).toMatchObject({ status: 'completed', text: TEXT });
    expect(waited).toBe(60_000);
  });
});
