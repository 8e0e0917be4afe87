import type { Reply } from './reply.ts';

/** A reply as the events of a Gemini stream. The counts grow with every event, and calls come whole. */
export function geminiEvents(reply: Reply, model: string): string[] {
  const events: string[] = [];
  const send = (parts: readonly object[], finish: object = {}): void => {
    const candidatesTokenCount = 5 * (events.length + 1);
    const usageMetadata = {
      promptTokenCount: 640,
      candidatesTokenCount,
      totalTokenCount: 640 + candidatesTokenCount,
      cachedContentTokenCount: 512,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 640 }],
    };
    const candidate = { content: { parts, role: 'model' }, ...finish, index: 0 };
    const data = { candidates: [candidate], usageMetadata, modelVersion: model, responseId: 'bench00000000000000000' };
    events.push(`data: ${JSON.stringify(data)}\r\n\r\n`);
  };
  if (reply.type === 'text') for (const text of reply.pieces) send([{ text }]);
  else {
    for (const { id, name, pieces } of reply.calls) {
      send([{ functionCall: { id, name, args: JSON.parse(pieces.join('')) as unknown } }]);
    }
  }
  send([{ text: '' }], { finishReason: 'STOP' });
  return events;
}
