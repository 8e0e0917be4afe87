import { isDurable, type DurableEvent } from '@treadle/core';
import { encodeAll, type StreamFormat } from '@treadle/server';
import { expect, it } from 'vitest';
import { generateCodeFormat, relayJsonFormat, relayRawFormat, relayXmlFormat } from './index.ts';
import { playConversation } from './test-support/conversation.ts';

/** A stream's format, knowing what was told before it. */
const FORMATS: readonly (readonly [name: string, format: (past: readonly DurableEvent[]) => StreamFormat])[] = [
  ['generate-code', () => generateCodeFormat({ variantIndex: 2 })],
  ['relay-json', () => relayJsonFormat()],
  ['relay-json-history', (past) => relayJsonFormat({ history: true, past })],
  ['relay-xml', (past) => relayXmlFormat({ history: true, past })],
  ['relay-raw', (past) => relayRawFormat({ history: true, past })],
];

it.each(FORMATS)('%s writes a conversation with everything in it as its golden file says', async (name, formatOf) => {
  const { sessionId, runId, drives } = await playConversation();
  const streams = drives.map(({ events }, at) => {
    const past = drives.slice(0, at).flatMap((drive) => drive.events.filter(isDurable));
    return encodeAll(formatOf(past), { sessionId, runId, resumed: false }, events, { reason: 'finished' })
      .map(({ data }) => data)
      .join('\n');
  });
  await expect(`${streams.join('\n\n')}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
});
