import type { Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { faultBench, ofType } from '../test-support/faults.ts';
import { TEST_WIRES } from '../test-support/wires.ts';

// The Responses API may be unable to read reasoning that it encrypted itself: of another account, or too long ago.

const bench = faultBench();
const wire = TEST_WIRES.find(({ name }) => name === 'openai-responses');
if (wire === undefined) throw new Error('There is such a wire.');

const message = 'The encrypted content gAAA... could not be verified.';
const UNREADABLE = { error: { status: 400, code: 'invalid_encrypted_content', message } };
const calling = (signature: string): Turn => ({
  content: [
    { type: 'thinking', text: 'Hm.', signature },
    { type: 'tool_call', name: 'act', arguments: { n: 1 } },
  ],
});
const CALL = calling('gAAA-one');

describe('reasoning that the provider cannot read any more', () => {
  it('is left out, and the call is tried once more', async () => {
    const { result, requests, events, executed } = await bench.play({ wire, turns: [CALL, UNREADABLE, 'Done.'] });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(executed).toHaveLength(1);
    const bodies = requests.map(({ body }) => JSON.stringify((body as { input: unknown }).input));
    expect(bodies).toHaveLength(3);
    expect(bodies[1]).toContain('"type":"reasoning"');
    expect(bodies[2]).not.toContain('"type":"reasoning"');
    // The call itself and its result are still there.
    expect(bodies[2]).toContain('"type":"function_call"');
    expect(bodies[2]).toContain('did 1');
    expect(ofType(events, 'attempt_failed')).toMatchObject([
      { attempt: 1, error: { status: 400, code: 'invalid_encrypted_content', retryable: true }, retry: {} },
    ]);
  });

  it('that came later stays', async () => {
    const { result, requests } = await bench.play({ wire, turns: [CALL, UNREADABLE, calling('gAAA-two'), 'Done.'] });
    expect(result.status).toBe('completed');
    const body = requests.at(-1)?.rawBody ?? '';
    expect(body).not.toContain('gAAA-one');
    expect(body).toContain('gAAA-two');
  });

  it('is not tried for ever: refused again, the run ends', async () => {
    const { result, requests } = await bench.play({ wire, turns: [CALL, UNREADABLE, UNREADABLE] });
    expect(result).toMatchObject({
      status: 'model_error',
      error: { code: 'invalid_encrypted_content', retryable: false },
    });
    expect(requests).toHaveLength(3);
  });

  it('that was never sent is no reason to try again', async () => {
    const { result, requests } = await bench.play({ wire, turns: [UNREADABLE] });
    expect(result).toMatchObject({ status: 'model_error', error: { status: 400, retryable: false } });
    expect(requests).toHaveLength(1);
  });
});
