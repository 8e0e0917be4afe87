import type { DurableEvent } from '@treadle/core';
import type { LiveEvent } from '@treadle/core/events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeAll, type StreamFormat } from '@treadle/server';
import { pieces } from './pieces.ts';
import { relayJsonFormat } from './json.ts';
import { relayXmlFormat } from './xml.ts';

const runId = 's1.x.1';
const start = { sessionId: 's1', runId, resumed: false };
const delta = (text: string): LiveEvent => ({
  type: 'message_delta',
  afterSeq: 4,
  runId,
  turnIndex: 0,
  messageId: 'msg_1',
  attempt: 1,
  kind: 'text',
  index: 0,
  offset: 0,
  text,
});
const result = (text: string): DurableEvent => ({
  type: 'tool_ended',
  seq: 5,
  at: 0,
  runId,
  turnIndex: 0,
  callId: 'call_1',
  toolName: 'read',
  content: [{ type: 'text', text }],
  isError: false,
  durationMs: 1,
});

const lines = (format: StreamFormat, ...events: (LiveEvent | DurableEvent)[]): string[] =>
  encodeAll(format, start, events, { reason: 'finished' }).map(({ data }) => data);

/** Texts with what each syntax has to escape, and halves of characters. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 3000 }),
  fc.string({
    unit: fc.constantFrom('<', '>', '&', '"', ']', '\\', '\n', 'n', '\0', '\ud83d', '🧵', 'a'),
    maxLength: 3000,
  }),
);

describe('the JSON envelopes', () => {
  it('are lines of at most 2,048 bytes, which say the text when they are put together', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const written = lines(relayJsonFormat(), result(text)).slice(0, -1);
        for (const line of written) expect(Buffer.byteLength(`data: ${line}`)).toBeLessThanOrEqual(2048);
        const envelopes = written.map(
          (line) => JSON.parse(line) as { readonly delta: string; readonly final: boolean },
        );
        expect(envelopes.map((envelope) => envelope.delta).join('')).toBe(text);
        expect(envelopes.map(({ final }) => final)).toEqual(envelopes.map((_, at) => at === envelopes.length - 1));
      }),
      { numRuns: 200 },
    );
  });

  it('are cut where no character is', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 0, max: 40 }), (text, bytes) => {
        const parts = pieces(text, bytes);
        expect(parts.join('')).toBe(text);
        for (const part of parts) {
          const isOne = [...part].length === 1;
          if (!isOne) expect(Buffer.byteLength(JSON.stringify(part)) - 2).toBeLessThanOrEqual(bytes);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('say a source that is too long for a line in pieces', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'A'.repeat(9000) } as const;
    const event = { ...result(''), content: [image] };
    const written = lines(relayJsonFormat(), event).slice(0, -1);
    const text = written.map((line) => (JSON.parse(line) as { readonly delta: string }).delta).join('');
    expect(text).toBe(`data:image/png;base64,${image.data}`);
  });
});

describe('the XML tags', () => {
  /** What a reader does before it parses. */
  const unescaped = (stream: readonly string[]): string =>
    stream
      .slice(0, -1)
      .join('')
      .replaceAll(/\\(\\|n|r)/g, (_, one: string) => ({ '\\': '\\', n: '\n', r: '\r' })[one] ?? '');

  it('can’t be forged by what a model says', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const xml = unescaped(lines(relayXmlFormat(), delta(text)));
        expect(xml.replace('<content-block-text>', '')).not.toMatch(/[<>]/);
      }),
      { numRuns: 200 },
    );
  });

  it('can’t be forged by what a tool returns: all of it is in sections that end where it ends', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const xml = unescaped(lines(relayXmlFormat(), result(text)));
        const body = /^<content-block-tool_result id="call_1" name="read">([^]*)<\/content-block-tool_result>$/.exec(
          xml,
        );
        // Each section ends at the first end there is, and nothing is between two.
        const sections = (body?.[1] ?? '').split(/(?<=\]\]>)/);
        for (const section of sections) {
          expect(section.startsWith('<![CDATA[')).toBe(true);
          expect(section.indexOf(']]>')).toBe(section.length - 3);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('write every line on one line', () => {
    expect(lines(relayXmlFormat(), delta('a\nb\\n')).join('|')).toBe('<content-block-text>|a\\nb\\\\n|[DONE]');
  });
});

describe('the files of a run', () => {
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  const file = { fileId: 'file_1', provider: 'anthropic', firstTurn: 0, lastTurn: 2, isUpdate: false };
  const blob = { id: `sha256-${'a'.repeat(64)}`, size: 12 };
  const generated: DurableEvent = {
    type: 'files_generated',
    seq: 6,
    at: 1_700_000_000_000,
    runId,
    backend: 'files',
    files: [
      { ...file, name: 'table.csv', mediaType: 'text/csv', blob },
      { ...file, fileId: 'file_2', error: 'Not found.' },
    ],
  };
  const end: DurableEvent = {
    type: 'run_ended',
    seq: 7,
    at: 1_700_000_000_001,
    runId,
    status: 'completed',
    stopReason: 'stop',
    usage,
    cost: 0,
    turns: 3,
  };

  it('that the provider’s tools made are told with where they are kept, and when they were seen', () => {
    const told = lines(relayJsonFormat(), generated, end).find((line) => line.includes('meta_files')) ?? '';
    expect(told).toContain('table.csv');
    for (const field of [
      'file_id',
      'storage_location',
      'first_seen_step',
      'last_seen_step',
      'is_update',
      'timestamp',
      'size',
      'Not found.',
    ]) {
      expect(told).toContain(field);
    }
    expect(told).toContain(blob.id);
  });
});
