import { describe, expect, it } from 'vitest';
import { faultBench, ofType, streamsArguments, until } from '../test-support/faults.ts';
import { TEST_WIRES } from '../test-support/wires.ts';

// Providers that fall silent, and users who have seen enough.

const bench = faultBench();
const TIMEOUT = 120_000;
const TEXT = 'Twenty-eight letters in here.';
const never = (): Promise<never> => new Promise(() => {});

describe.each(TEST_WIRES)('on $name', (wire) => {
  it('P18: no headers within the limit is a failure that is tried again', async () => {
    const { result, requests, waited } = await bench.play({
      wire,
      turns: [{ wait: never() }, 'Hello.'],
      during: async ({ provider, clock }) => {
        await provider.waitForRequest(1);
        await clock.advance(TIMEOUT);
      },
    });
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.' });
    expect(requests.map(({ outcome }) => outcome)).toEqual(['left', 'done']);
    expect(waited).toBe(TIMEOUT + 1000);
  });

  it('P18: headers and then silence is a failure that is tried again', async () => {
    const { result, events, requests } = await bench.play({
      wire,
      turns: [{ text: TEXT, waitAfter: { deltas: 0, until: never() } }, 'Hello.'],
      during: async ({ responses, clock }) => {
        await responses(1);
        await clock.advance(TIMEOUT);
      },
    });
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.' });
    expect(ofType(events, 'attempt_failed')).toMatchObject([{ error: { code: 'TREADLE_IDLE_TIMEOUT' } }]);
    expect(requests[0]?.outcome).toBe('left');
  });

  it('P19: silence in the middle of text ends the run, with what came before', async () => {
    const { result, requests } = await bench.play({
      wire,
      agent: { retry: { afterText: false } },
      turns: [{ text: TEXT, chunkSize: 7, waitAfter: { deltas: 2, until: never() } }],
      during: async ({ deltas, clock }) => {
        await deltas(2);
        await clock.advance(TIMEOUT);
      },
    });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'network', code: 'TREADLE_IDLE_TIMEOUT' } });
    expect(result.finalMessage).toMatchObject({ stopReason: 'error', content: [{ text: TEXT.slice(0, 14) }] });
    expect(requests.map(({ outcome }) => outcome)).toEqual(['left']);
  });

  it('P19: bytes that come before the limit begin it anew', async () => {
    const second = Promise.withResolvers<void>();
    const { result, waited } = await bench.play({
      wire,
      turns: [{ text: TEXT, chunkSize: 7, waitAfter: { deltas: 2, until: second.promise } }],
      during: async ({ deltas, clock }) => {
        await deltas(2);
        await clock.advance(TIMEOUT - 1);
        second.resolve();
      },
    });
    expect(result).toMatchObject({ status: 'completed', text: TEXT });
    expect(waited).toBe(TIMEOUT - 1);
  });

  it.each([0, 1, 2, 3, 4, 5])(
    'P20: an abort after %i deltas ends the run without waiting for anything, and hangs up',
    async (count) => {
      const { result, requests, waited } = await bench.play({
        wire,
        turns: [{ text: TEXT, chunkSize: 5, waitAfter: { deltas: count, until: never() } }],
        during: async ({ provider, run, deltas }) => {
          await provider.waitForRequest(1);
          await deltas(count);
          await run.abort();
        },
      });
      expect(result.status).toBe('aborted');
      expect(requests.map(({ outcome }) => outcome)).toEqual(['left']);
      expect(waited).toBe(0);
      const said = result.messages.flatMap((message) => (message.role === 'assistant' ? message.content : []));
      expect(said).toEqual(count === 0 ? [] : [{ type: 'text', text: TEXT.slice(0, 5 * count) }]);
    },
  );

  it('P20: an abort at any event of the run leaves a history that can go on, and one end', async () => {
    const call = { thinking: 'Hm.', text: 'Let me.', toolCalls: [{ name: 'act', arguments: { n: 1 } }] };
    const turns = [call, 'Done.'];
    const whole = await bench.play({ wire, turns });
    expect(whole.result.status).toBe('completed');
    const length = whole.events.findIndex(({ type }) => type === 'run_ended');
    expect(length).toBeGreaterThan(10);
    let aborted = 0;
    for (let at = 1; at < length; at++) {
      const { result, executed } = await bench.play({
        wire,
        turns: [...turns, 'Done again.'],
        during: async ({ run, events }) => {
          await until(() => events.length >= at);
          await run.abort();
        },
      });
      expect(['aborted', 'completed']).toContain(result.status);
      expect(executed.length).toBeLessThanOrEqual(1);
      if (result.status === 'aborted') aborted++;
    }
    expect(aborted).toBeGreaterThan(length / 2);
  });
});

describe.each(TEST_WIRES.filter(streamsArguments))('on $name', (wire) => {
  it('P19: silence in the middle of a call is tried again, and only the whole call runs', async () => {
    const call = { toolCalls: [{ name: 'act', arguments: { path: 'a/long/enough/path.txt' } }], chunkSize: 8 };
    const { result, executed } = await bench.play({
      wire,
      turns: [{ ...call, waitAfter: { deltas: 2, until: never() } }, call, 'Done.'],
      during: async ({ deltas, clock }) => {
        await deltas(2);
        await clock.advance(TIMEOUT);
      },
    });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(executed).toEqual([{ path: 'a/long/enough/path.txt' }]);
  });
});

it('I7: enough of these runs came through', () => {
  expect(bench.completed).toBeGreaterThanOrEqual(TEST_WIRES.length * 4);
});
