import { describe, expect, it } from 'vitest';
import { scriptedModel } from '@treadle/testing';
import { defineAgent, type ContextOptions } from '../../index.ts';
import { checkContext, contextBounds } from './options.ts';

describe('the options of a context', () => {
  it.each<[ContextOptions, string]>([
    [{ window: 0 }, 'context.window must be greater than 0, and it is 0.'],
    [{ reserve: -1 }, 'context.reserve must be at least 0, and it is -1.'],
    [{ window: 1000, reserve: 900 }, 'context.reserve must be less than the window, and it is 900.'],
    [{ compactAt: 1.1 }, 'context.compactAt must be greater than 0 and at most 1, and it is 1.1.'],
    [{ compactTo: 0.95 }, 'context.compactTo must be greater than 0 and less than compactAt, and it is 0.95.'],
    [{ summary: { timeoutMs: 0 } }, 'context.summary.timeoutMs must be greater than 0, and it is 0.'],
    [
      { summary: { maxRetries: 0.5 } },
      'context.summary.maxRetries must be a whole number of at least 0, and it is 0.5.',
    ],
    [{ strategy: [] }, 'context.strategy must be at least one, and it is 0.'],
  ])('are refused when they make no sense: %j', (context, message) => {
    expect(() => defineAgent({ model: scriptedModel([]), context })).toThrow(message);
  });

  it('by default leave a twentieth for the reply, begin at 85 % and come down to half', () => {
    expect(contextBounds(checkContext({}), { contextWindow: 200_000 })).toEqual({
      window: 200_000,
      threshold: 170_000,
      target: 100_000,
    });
  });

  it('have no bounds while no window is known; their own window is before the model’s', () => {
    expect(contextBounds(checkContext({}), {})).toBeNull();
    expect(contextBounds(checkContext({ window: 1000 }), { contextWindow: 5000 })?.window).toBe(1000);
  });

  it('end where a prompt costs more, or where the model takes no more input', () => {
    const facts = { contextWindow: 1_050_000, maxInput: 922_000, priceStep: 272_000 };
    expect(contextBounds(checkContext({}), facts)?.threshold).toBeLessThan(272_000);
    expect(contextBounds(checkContext({}), { ...facts, priceStep: 10_000_000 })?.window).toBe(922_000);
    expect(contextBounds(checkContext({ window: 1_000_000 }), facts)?.window).toBe(1_000_000);
  });

  it('always leave room to grow after a compaction', () => {
    const bounds = contextBounds(checkContext({ window: 1000, compactAt: 0.6, compactTo: 0.55, reserve: 200 }), {});
    expect(bounds?.target).toBeLessThan(bounds?.threshold ?? 0);
  });
});
