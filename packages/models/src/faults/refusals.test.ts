import { describe, expect, it } from 'vitest';
import { eventStreamMessage, type ProviderTurn } from '@treadle/testing';
import { faultBench, isSse, ofType } from '../test-support/faults.ts';
import { serve } from '../test-support/servers.ts';
import { TEST_KEY, TEST_WIRES } from '../test-support/wires.ts';

// What a provider, or somebody in between, says instead of an answer.

const bench = faultBench();
const DAY = 86_400_000;

/** How each service says in an open stream that it has too much to do. */
const OVERLOADED: Readonly<Record<string, string | Uint8Array>> = {
  anthropic: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  openai: 'data: {"error":{"message":"Overloaded","type":"server_error","param":null,"code":null}}\n\n',
  'openai-responses':
    'event: error\ndata: {"type":"error","code":"server_error","message":"Overloaded","param":null,"sequence_number":0}\n\n',
  google: 'data: {"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}\r\n\r\n',
  bedrock: eventStreamMessage(
    {
      ':exception-type': 'serviceUnavailableException',
      ':content-type': 'application/json',
      ':message-type': 'exception',
    },
    '{"message":"Overloaded"}',
  ),
  ollama: '{"error":"Overloaded"}\n',
};

const failing = (status: number, headers: Record<string, string> = {}): ProviderTurn => ({
  error: { status },
  faults: { headers },
});

describe.each(TEST_WIRES)('on $name', (wire) => {
  it('P12: an error event before any content is tried again, as the status would be', async () => {
    const body = OVERLOADED[wire.name] ?? '';
    const { result, events, waited } = await bench.play({ wire, turns: [{ faults: { body } }, 'Hello.'] });
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.' });
    expect(ofType(events, 'attempt_failed')).toMatchObject([{ error: { retryable: true, message: 'Overloaded' } }]);
    expect(waited).toBe(1000);
  });

  it('P13: an error event after content ends the run, and what came is kept', async () => {
    const text = 'The first half of a sentence, and';
    const turn = { text, error: { status: 529, message: 'Overloaded', afterDeltas: Infinity } };
    const { result, requests } = await bench.play({ wire, turns: [turn], agent: { retry: { afterText: false } } });
    expect(result).toMatchObject({ status: 'model_error', error: { message: 'Overloaded' } });
    expect(result.finalMessage).toMatchObject({ stopReason: 'error', content: [{ text }] });
    expect(requests).toHaveLength(1);
  });

  it('P14: 429 with Retry-After: 7 waits seven seconds', async () => {
    const { result, waited } = await bench.play({ wire, turns: [failing(429, { 'retry-after': '7' }), 'Hello.'] });
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.' });
    expect(waited).toBe(7000);
  });

  it('P14: the wait that was asked for can be aborted', async () => {
    const { result, requests, waited } = await bench.play({
      wire,
      turns: [failing(429, { 'retry-after': '7' })],
      retries: 'held',
      during: async ({ run, attemptFailed }) => {
        await attemptFailed();
        await run.abort();
      },
    });
    expect(result.status).toBe('aborted');
    expect(waited).toBe(0);
    expect(requests).toHaveLength(1);
  });

  it('P15: 429 with a date that has passed tries again at once', async () => {
    const past = new Date(Date.now() - DAY).toUTCString();
    const { result, waited } = await bench.play({ wire, turns: [failing(429, { 'retry-after': past }), 'Hello.'] });
    expect(result.status).toBe('completed');
    expect(waited).toBe(0);
  });

  it('P15: 429 with a date a day ahead fails at once and says why', async () => {
    const future = new Date(Date.now() + DAY).toUTCString();
    const { result, waited, requests } = await bench.play({ wire, turns: [failing(429, { 'retry-after': future })] });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'rate_limited', status: 429 } });
    expect(result.message).toMatch(/asked to wait 86\d{3} s, more than the 120 s that are allowed/);
    expect(waited).toBe(0);
    expect(requests).toHaveLength(1);
  });

  it.each([529, 503])('P16: %i is tried again with growing waits, and then the answer comes', async (status) => {
    const { result, events } = await bench.play({ wire, turns: [failing(status), failing(status), 'Hello.'] });
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.', turns: 1 });
    expect(ofType(events, 'attempt_failed').map(({ attempt, retry }) => [attempt, retry?.delayMs])).toEqual([
      [1, 1000],
      [2, 2000],
    ]);
  });

  it.each([
    [0, 800 + 1600 + 3200],
    [1, 1200 + 2400 + 4800],
  ])('P16: 529 for ever ends the run after four attempts; chance %i spreads the waits', async (random, total) => {
    const turns = Array.from({ length: 9 }, () => failing(529));
    const { result, requests, waited } = await bench.play({ wire, turns, random });
    expect(result).toMatchObject({ status: 'model_error', error: { status: 529, retryable: true } });
    expect(requests).toHaveLength(4);
    expect(waited).toBe(total);
  });

  it('P16: waits stop growing at their cap', async () => {
    const turns = Array.from({ length: 9 }, () => failing(503));
    const retry = { maxRetries: 8, initialDelayMs: 1000, maxDelayMs: 5000 };
    const { events } = await bench.play({ wire, turns, agent: { retry } });
    const waits = ofType(events, 'attempt_failed').flatMap((event) => event.retry?.delayMs ?? []);
    expect(waits).toEqual([1000, 2000, 4000, 5000, 5000, 5000, 5000, 5000]);
  });

  it.each([400, 401, 403, 404, 413])('P17: %i is not tried again', async (status) => {
    const { result, requests, waited } = await bench.play({ wire, turns: [failing(status)] });
    expect(result).toMatchObject({ status: 'model_error', error: { status, retryable: false } });
    expect(requests).toHaveLength(1);
    expect(waited).toBe(0);
  });

  it('P21: a login page with status 200 is a clear error that shows its beginning, without secrets', async () => {
    const page = `<html><body>Sign in. Authorization: Bearer ${TEST_KEY} ${'please '.repeat(100)}</body></html>`;
    const faults = { body: page, headers: { 'content-type': 'text/html' } };
    const { result, requests } = await bench.play({ wire, turns: [{ faults }] });
    expect(result).toMatchObject({ status: 'model_error', error: { retryable: false, status: 200 } });
    expect(result.error?.message).toMatch(/text\/html instead of .*proxy or a login page/s);
    const excerpt = result.error?.excerpt ?? '';
    expect(excerpt).toContain('Sign in.');
    expect(excerpt).toContain('[redacted]');
    expect(excerpt.length).toBeLessThanOrEqual(201);
    expect(requests).toHaveLength(1);
  });

  it('P41: a redirect to another host is not followed, and no credential goes there', async () => {
    const asked: string[] = [];
    await using elsewhere = await serve((request, response) => {
      asked.push(request.headers.authorization ?? request.url ?? '');
      response.end();
    });
    const faults = { status: 302, headers: { location: `${elsewhere.url}/v1/messages` } };
    const { result, requests } = await bench.play({ wire, turns: [{ faults }] });
    expect(result).toMatchObject({ status: 'model_error', error: { status: 302, retryable: false } });
    expect(result.message).toContain(elsewhere.host);
    expect(requests).toHaveLength(1);
    expect(elsewhere.connections()).toBe(0);
    expect(asked).toEqual([]);
  });
});

describe.each(TEST_WIRES.filter(isSse))('on $name', (wire) => {
  it('P22: JSON that is no answer of this wire is a clear error', async () => {
    const { result, requests } = await bench.play({ wire, turns: [{ faults: { body: { hello: 'world' } } }] });
    expect(result).toMatchObject({ status: 'model_error', error: { retryable: false } });
    expect(result.message).toContain('JSON that is not a response of');
    expect(requests).toHaveLength(1);
  });
});

// A line of JSON is how a stream of these wires begins; without its end it was cut.
describe.each(TEST_WIRES.filter((wire) => !isSse(wire)))('on $name', (wire) => {
  it('P22: JSON that is no answer of this wire is an answer without its end, not a success', async () => {
    const turns = Array.from({ length: 4 }, () => ({ faults: { body: { hello: 'world' } } }));
    const { result, requests } = await bench.play({ wire, turns });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'network' } });
    expect(result.message).toContain('ended early');
    expect(requests).toHaveLength(4);
  });
});

it('I7: enough of these runs came through', () => {
  expect(bench.completed).toBeGreaterThanOrEqual(TEST_WIRES.length * 5);
});
