import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePosition, trackPosition } from './position.ts';

const place = { afterSeq: 4, runId: 'r', turnIndex: 0, messageId: 'msg_1', attempt: 2 };
const started = { type: 'message_started', ...place } as const;
const delta = (index: number, offset: number, text: string) =>
  ({ type: 'message_delta', ...place, kind: 'text', index, offset, text }) as const;

describe('an id of a stream', () => {
  it('names the event, and in the middle of a message how much of it was told', () => {
    const position = trackPosition({ seq: 4, message: null });
    expect(position.id()).toBe('4');
    position.started(started);
    expect(position.id()).toBe('4~msg_1~2~0~');
    position.delta(delta(0, 0, 'Hello'));
    expect(position.id()).toBe('4~msg_1~2~0~t0.5');
    position.delta(delta(1, 0, 'you'));
    position.delta(delta(1, 3, '!'));
    expect(position.id()).toBe('4~msg_1~2~0~t0.5,t1.4');
  });

  it('keeps the message while events come in between that do not end it', () => {
    const position = trackPosition({ seq: 4, message: null });
    position.started(started);
    position.delta(delta(0, 0, 'Hello'));
    position.durable({
      type: 'input_received',
      seq: 5,
      at: 0,
      key: 'k',
      input: { type: 'steering', message: { content: [] } },
    });
    expect(position.id()).toBe('5~msg_1~2~0~t0.5');
    position.durable({
      type: 'message_discarded',
      seq: 6,
      at: 0,
      runId: 'r',
      turnIndex: 0,
      attempt: 2,
      reason: 'interrupted',
    });
    expect(position.id()).toBe('6');
  });

  it('has nothing of a message whose beginning was not told, as when another process goes on with it', () => {
    const position = trackPosition({ seq: 4, message: null });
    expect(position.unseen(delta(0, 0, 'Hello'))).toBeNull();
    position.started(started);
    expect(position.unseen(delta(0, 0, 'Hello'))?.text).toBe('Hello');
  });

  it('takes nothing of a message that is void or whole, however late its process says it', () => {
    const position = trackPosition({ seq: 4, message: null });
    position.started(started);
    position.delta(delta(0, 0, 'Hello'));
    const body = { at: 0, runId: 'r', turnIndex: 0, attempt: 2 } as const;
    position.durable({ type: 'message_discarded', seq: 5, ...body, reason: 'interrupted' });
    expect(position.isKnown(started)).toBe(true);
    expect(position.unseen(delta(0, 5, ' you'))).toBeNull();
    const again = { ...started, afterSeq: 5, attempt: 3 };
    expect(position.isKnown(again)).toBe(false);
    position.started(again);
    expect(position.unseen({ ...delta(0, 0, 'Hello'), afterSeq: 5, attempt: 3 })?.text).toBe('Hello');
  });

  it('brings a reader back to where it was: what is told twice is cut off, whatever pieces it came in', () => {
    const pieces = fc.array(fc.string({ minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(pieces, fc.nat(), pieces, (told, cut, again) => {
        const text = told.join('');
        const first = trackPosition({ seq: 4, message: null });
        first.started(started);
        let seen = '';
        for (const piece of told.slice(0, cut % (told.length + 1))) {
          first.delta(delta(0, seen.length, piece));
          seen += piece;
        }
        const back = parsePosition(first.id());
        if (!back) throw new Error('No id.');
        const second = trackPosition(back);
        // The same text, cut elsewhere.
        let offset = 0;
        for (const length of [...again.map((piece) => piece.length), text.length]) {
          const piece = text.slice(offset, offset + length);
          if (piece === '') break;
          const unseen = second.unseen(delta(0, offset, piece));
          offset += piece.length;
          if (!unseen) continue;
          expect(unseen.offset).toBe(seen.length);
          second.delta(unseen);
          seen += unseen.text;
        }
        expect(seen).toBe(text);
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    '',
    'x',
    '-1',
    '1.5',
    '4~',
    '4~msg',
    '4~msg_1~2~0~t0',
    '4~../x~1~0~',
    '4~msg_1~2~0~t0.5;',
    '9'.repeat(16),
    '1\n2',
  ])('is not %j', (id) => {
    expect(parsePosition(id)).toBeNull();
  });

  it('is read in linear time, however hostile it is', () => {
    expect(parsePosition(`4~msg_1~2~0~${'t0.1,'.repeat(100_000)}`)).toBeNull();
  });
});
