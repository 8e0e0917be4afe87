import { padding } from './noise.ts';
import type { Reply } from './reply.ts';

/** A reply as the events of a Chat Completions stream, with the fields the real service sends in every chunk. */
export function openaiChatEvents(reply: Reply, model: string): string[] {
  const head = {
    id: 'chatcmpl-Bench0000000000000000000000000',
    object: 'chat.completion.chunk',
    created: 1_780_000_000,
    model,
    service_tier: 'default',
    system_fingerprint: 'fp_benchmark00',
  };
  const events: string[] = [];
  const send = (data: object): number => events.push(`data: ${JSON.stringify(data)}\n\n`);
  const delta = (part: object, finishReason: string | null = null): void => {
    const choice = { index: 0, delta: part, logprobs: null, finish_reason: finishReason };
    send({ ...head, choices: [choice], usage: null, obfuscation: padding(events.length) });
  };
  delta({ role: 'assistant', content: reply.type === 'text' ? '' : null, refusal: null });
  if (reply.type === 'text') {
    for (const content of reply.pieces) delta({ content });
  } else {
    for (const [index, { id, name, pieces }] of reply.calls.entries()) {
      delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
      for (const piece of pieces) delta({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  delta({}, reply.type === 'text' ? 'stop' : 'tool_calls');
  send({
    ...head,
    choices: [],
    usage: {
      prompt_tokens: 640,
      completion_tokens: 48,
      total_tokens: 688,
      prompt_tokens_details: { cached_tokens: 512, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0 },
    },
    obfuscation: padding(events.length),
  });
  events.push('data: [DONE]\n\n');
  return events;
}
