import { describe, expect, it } from 'vitest';
import { errorText } from './errors.ts';

describe('the text of what was thrown', () => {
  const withMessage = (message: unknown): Error => Object.defineProperty(new Error(), 'message', { value: message });

  it.each<[string, unknown, string]>([
    ['an error', new TypeError('no file'), 'no file'],
    ['an error without a message', new TypeError(), 'TypeError'],
    ['an object', { code: 3 }, '{"code":3}'],
    ['nothing', undefined, 'undefined was thrown'],
    ['a function', () => 1, 'a function was thrown'],
    ['a message that is data', withMessage({ code: 3 }), '{"code":3}'],
    [
      'a list of four billion places',
      withMessage(Object.assign([], { length: 2 ** 32 - 1 })),
      'a value that can not be printed was thrown',
    ],
  ])('is bounded and readable for %s', (_, thrown, text) => {
    expect(errorText(thrown)).toBe(text);
  });

  it('is there for an error whose fields throw', () => {
    const hostile = Object.defineProperty(new Error(), 'message', {
      get() {
        throw new Error('again');
      },
    });
    expect(errorText(hostile)).toBe('a value that can not be printed was thrown');
  });
});
