import type { Reply } from './reply.ts';

/** A reply as the events of a Messages stream. */
export function anthropicEvents(reply: Reply, model: string): string[] {
  const events: string[] = [];
  const send = (data: { readonly type: string; readonly [field: string]: unknown }): void => {
    events.push(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const usage = { input_tokens: 128, cache_creation_input_tokens: 0, cache_read_input_tokens: 512, output_tokens: 1 };
  send({
    type: 'message_start',
    message: {
      id: 'msg_bench00000000000000000000',
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, service_tier: 'standard' },
    },
  });
  const block = (index: number, start: object, deltas: readonly object[]): void => {
    send({ type: 'content_block_start', index, content_block: start });
    if (index === 0) send({ type: 'ping' });
    for (const delta of deltas) send({ type: 'content_block_delta', index, delta });
    send({ type: 'content_block_stop', index });
  };
  if (reply.type === 'text') {
    block(
      0,
      { type: 'text', text: '' },
      reply.pieces.map((text) => ({ type: 'text_delta', text })),
    );
  } else {
    for (const [index, { id, name, pieces }] of reply.calls.entries()) {
      const deltas = ['', ...pieces].map((json) => ({ type: 'input_json_delta', partial_json: json }));
      block(index, { type: 'tool_use', id, name, input: {} }, deltas);
    }
  }
  const stopReason = reply.type === 'text' ? 'end_turn' : 'tool_use';
  send({
    type: 'message_delta',
    delta: { stop_reason: stopReason, stop_sequence: null },
    usage: { ...usage, output_tokens: 48 },
  });
  send({ type: 'message_stop' });
  return events;
}
