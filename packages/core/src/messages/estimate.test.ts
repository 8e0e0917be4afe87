import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AssistantContent, Message } from '../index.ts';
import { assistant, toolResult, user } from '../test-support/views.ts';
import { estimateMessage, estimateText, utf8Length } from './estimate.ts';
import { estimateFrame } from './estimate-frame.ts';

const tokensOf = (block: AssistantContent): number => estimateMessage(assistant('m', [block])) - 4;

describe('an estimate', () => {
  it('of a text is a quarter of its bytes, rounded up', () => {
    expect([estimateText(''), estimateText('a'), estimateText('abcd'), estimateText('abcde')]).toEqual([0, 1, 1, 2]);
    expect(estimateText('äöü')).toBe(2);
    expect(estimateText('𝒳')).toBe(1);
  });

  it('counts bytes as UTF-8 has them, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
      }),
    );
  });

  it.each([
    ['tiny', 'AAAA', 85],
    ['of 75 kB', 'A'.repeat(100_000), 100],
    ['huge', 'A'.repeat(100_000_000), 16_000],
  ])('of an image goes by its bytes, within bounds: %s', (_, data, tokens) => {
    expect(tokensOf({ type: 'image', mediaType: 'image/png', data })).toBe(tokens);
  });

  it('of an image that is only an address is the most a provider scales one to', () => {
    expect(tokensOf({ type: 'image', mediaType: 'image/png', url: 'https://example.org/a.png' })).toBe(1600);
  });

  it('of a PDF is 2,000 for each page its size makes likely', () => {
    const pdf = (data: string): number => tokensOf({ type: 'file', mediaType: 'application/pdf', data });
    expect([pdf('AAAA'), pdf('A'.repeat(200_000))]).toEqual([2000, 6000]);
  });

  it('of a call is its name, its arguments and 8', () => {
    const call = { type: 'tool_call' as const, callId: 'c', name: 'bash', arguments: { command: 'ls' } };
    expect(tokensOf(call)).toBe(1 + Math.ceil('{"command":"ls"}'.length / 4) + 8);
  });

  it('adds 4 for a message and 8 for a result; what no model is sent counts nothing', () => {
    expect(estimateMessage(user('u', 'abcd'))).toBe(5);
    expect(estimateMessage(toolResult('c', 'abcd'))).toBe(9);
    expect(estimateMessage({ role: 'extension', id: 'x', at: 0, kind: 'ui', data: 'a long text' })).toBe(0);
  });

  it('counts hidden reasoning by what returns to its provider', () => {
    expect(tokensOf({ type: 'redacted_thinking', data: 'x'.repeat(40) })).toBe(10);
    expect(tokensOf({ type: 'thinking', text: '', signature: 'x'.repeat(40) })).toBe(10);
    expect(tokensOf({ type: 'thinking', text: 'abcd', signature: 'x'.repeat(40) })).toBe(1);
  });

  it('reads a message once', () => {
    let reads = 0;
    const message: Message = {
      ...user('u', ''),
      get content() {
        reads += 1;
        return [{ type: 'text' as const, text: 'Hello.' }];
      },
    };
    expect([estimateMessage(message), estimateMessage(message), reads]).toEqual([6, 6, 1]);
  });

  it('of system prompt and tools is made once per agent', () => {
    const tool = { name: 'a', description: 'b', inputSchema: { type: 'object' } };
    const frame = { instructions: 'abcdefgh', toolDefinitions: [tool], providerTools: [] };
    expect(estimateFrame(frame)).toBe(2 + Math.ceil(JSON.stringify(tool).length / 4) + 8);
    expect(estimateFrame(frame)).toBe(estimateFrame({ ...frame }));
  });
});
