import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { InputMessage, SessionInput } from '../entries/events.ts';
import type { DurableEvent } from '../index.ts';
import { fallbackTitle, sessionTitle } from './title.ts';

describe('the fallback title', () => {
  it('is the text itself when it has at most 50 characters', () => {
    expect(fallbackTitle('Hello')).toBe('Hello');
    expect(fallbackTitle('x'.repeat(50))).toBe('x'.repeat(50));
  });

  it('is the first 47 characters of a longer one, and three dots', () => {
    expect(fallbackTitle('x'.repeat(51))).toBe(`${'x'.repeat(47)}...`);
    expect(fallbackTitle('word '.repeat(20))).toBe(`${'word '.repeat(9)}wo...`);
  });

  it('is on one line, without blanks around it', () => {
    expect(fallbackTitle('  Why?\n\n\tBecause. ')).toBe('Why? Because.');
    expect(fallbackTitle(`${' '.repeat(5000)}Late`)).toBe('Late');
    expect(fallbackTitle(' \n ')).toBe('');
  });

  it('cuts no character in two', () => {
    const family = '👨‍👩‍👧‍👦';
    expect(fallbackTitle(family.repeat(60))).toBe(`${family.repeat(47)}...`);
  });

  it('is at most 50 characters long whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const title = fallbackTitle(text);
        expect([...new Intl.Segmenter().segment(title)].length).toBeLessThanOrEqual(50);
        expect(title).toBe(title.toWellFormed());
        expect(/\n/.test(title)).toBe(false);
      }),
    );
  });
});

describe('the title of a session', () => {
  const posted = (input: SessionInput): DurableEvent => ({ type: 'input_received', seq: 1, at: 1, key: 'k', input });
  const prompt = (...content: InputMessage['content']): DurableEvent =>
    posted({ type: 'prompt', messages: [{ content }] });

  it('is that of its first prompt with a text', () => {
    const image = { type: 'image', mediaType: 'image/png', url: 'https://example.org/a.png' } as const;
    const text = (said: string) => ({ type: 'text', text: said }) as const;
    const events = [posted({ type: 'cancel' }), prompt(image), prompt(image, text('What is it?')), prompt(text('No.'))];
    expect(sessionTitle(events)).toBe('What is it?');
    expect(sessionTitle(events.slice(0, 2))).toBeNull();
  });
});
