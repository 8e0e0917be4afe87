import { describe, expect, it } from 'vitest';
import { bytesOf, faultBench, ofType, streamsArguments } from '../test-support/faults.ts';
import { TEST_WIRES } from '../test-support/wires.ts';

// Connections that break, and streams that end too early, on a real socket.

const bench = faultBench();
const STORY = 'Once upon a time there was a loop that never gave up on anybody.';

describe.each(TEST_WIRES)('on $name', (wire) => {
  it('P1: without `afterText` a reset in the middle of text keeps the text and is not tried again', async () => {
    const seen = Promise.withResolvers<void>();
    const { result, requests, events } = await bench.play({
      wire,
      agent: { retry: { afterText: false } },
      turns: [
        { text: STORY, error: { kind: 'network', afterDeltas: 2 }, waitAfter: { deltas: 2, until: seen.promise } },
      ],
      during: async ({ deltas }) => {
        await deltas(2);
        seen.resolve();
      },
    });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'network' } });
    expect(result.finalMessage).toMatchObject({
      stopReason: 'error',
      content: [{ type: 'text', text: STORY.slice(0, 32) }],
    });
    expect(requests).toHaveLength(1);
    const streamed = events.flatMap((event) =>
      event.type === 'message_delta' && event.kind === 'text' ? event.text : [],
    );
    // The second message is the follow-up's.
    expect(streamed.join('')).toBe(`${STORY.slice(0, 32)}After all.`);
  });

  it('P1: a reset in the middle of text is tried again, and what was said is marked as discarded', async () => {
    const broken = { text: STORY, error: { kind: 'network', afterDeltas: 2 } } as const;
    const { result, events } = await bench.play({ wire, turns: [broken, STORY] });
    expect(result).toMatchObject({ status: 'completed', text: STORY });
    expect(events.filter(({ type }) => type === 'message_discarded')).toHaveLength(1);
  });

  it('P1: a reset before anything was said is tried again, and the text comes once', async () => {
    const { result, requests } = await bench.play({
      wire,
      turns: [{ text: STORY, faults: { cutAfterEvents: 0, cutBy: 'reset' } }, STORY],
    });
    expect(result).toMatchObject({ status: 'completed', text: STORY });
    expect(requests.map(({ outcome }) => outcome)).toEqual(['cut', 'done']);
  });

  it.each(['close', 'reset'] as const)(
    'P2: a connection that breaks (%s) inside a call’s arguments never runs it, and is tried again',
    async (cutBy) => {
      const call = { toolCalls: [{ name: 'act', arguments: { path: 'needle.txt', n: 1 } }], chunkSize: 1000 };
      const body = await bytesOf(wire, call);
      const cutAfterBytes = body.indexOf('needle') + 3;
      expect(cutAfterBytes).toBeGreaterThan(3);
      const { result, executed, requests } = await bench.play({
        wire,
        turns: [{ ...call, faults: { cutAfterBytes, cutBy } }, call, 'Done.'],
      });
      expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
      expect(executed).toEqual([{ path: 'needle.txt', n: 1 }]);
      expect(requests).toHaveLength(3);
    },
  );

  it('P2: a connection that always breaks inside a call ends the run, and nothing ran', async () => {
    const call = { toolCalls: [{ name: 'act', arguments: { path: 'needle.txt' } }], chunkSize: 1000 };
    const cutAfterBytes = (await bytesOf(wire, call)).indexOf('needle') + 3;
    const turns = Array.from({ length: 4 }, () => ({ ...call, faults: { cutAfterBytes } }));
    const { result, executed, waited } = await bench.play({ wire, turns });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'network' } });
    expect(executed).toEqual([]);
    expect(waited).toBe(7000);
  });

  it("P3: a clean end without the wire's terminal event is an error, not a success", async () => {
    const agent = { retry: { afterText: false } };
    const { result, requests } = await bench.play({ wire, agent, turns: [{ text: STORY, unfinished: true }] });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'network', retryable: true } });
    expect(result.finalMessage).toMatchObject({ stopReason: 'error', content: [{ text: STORY }] });
    expect(requests).toHaveLength(1);
  });

  it('P3: a clean end after a whole call is an error too: the call does not run before it is sent again', async () => {
    const call = { toolCalls: [{ name: 'act', arguments: { n: 7 } }] };
    const { result, executed } = await bench.play({ wire, turns: [{ ...call, unfinished: true }, call, 'Done.'] });
    expect(result.status).toBe('completed');
    expect(executed).toEqual([{ n: 7 }]);
  });

  it('P3: an answer without a single event is an error, not an empty success', async () => {
    const turns = Array.from({ length: 4 }, () => ({ faults: { body: '' } }));
    const { result } = await bench.play({ wire, turns });
    expect(result.status).toBe('model_error');
    expect(result.finalMessage).toBeNull();
  });
});

describe.each(TEST_WIRES.filter(streamsArguments))('on $name', (wire) => {
  it('P4: arguments that the output limit cut off do not run', async () => {
    const { result, executed, events } = await bench.play({
      wire,
      turns: [
        { toolCalls: [{ name: 'act', argumentsText: '{"path": "needle' }], stopReason: 'length' },
        { toolCalls: [{ name: 'act', arguments: { path: 'short' } }] },
        'Done.',
      ],
    });
    expect(result).toMatchObject({ status: 'completed', turns: 3 });
    expect(executed).toEqual([{ path: 'short' }]);
    expect(ofType(events, 'tool_call_rejected')).toMatchObject([{ reason: 'cut_off' }]);
  });
});

it('I7: enough of these runs came through', () => {
  expect(bench.completed).toBeGreaterThanOrEqual(TEST_WIRES.length * 4 + 4);
});
