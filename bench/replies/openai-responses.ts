import { padding } from './noise.ts';
import type { Reply, ReplyCall } from './reply.ts';

/** A reply as the events of a Responses stream, with the fields the real service sends in every one. */
export function openaiResponsesEvents(reply: Reply, model: string): string[] {
  const events: string[] = [];
  const output: object[] = [];
  const send = (type: string, fields: object): void => {
    const data = { type, sequence_number: events.length, ...fields };
    events.push(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const response = {
    id: 'resp_bench000000000000000000000000000000000000000000',
    object: 'response',
    created_at: 1_780_000_000,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model,
    output,
    parallel_tool_calls: true,
    store: false,
    usage: null,
  };
  send('response.created', { response });
  send('response.in_progress', { response });
  if (reply.type === 'text') output.push(sendText(reply.pieces, send));
  else for (const [index, call] of reply.calls.entries()) output.push(sendCall(call, index, send));
  const usage = {
    input_tokens: 640,
    input_tokens_details: { cached_tokens: 512 },
    output_tokens: 48,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 688,
  };
  send('response.completed', { response: { ...response, status: 'completed', usage } });
  return events;
}

type Send = (type: string, fields: object) => void;

/** Sends a message's events and returns the finished item. */
function sendText(pieces: readonly string[], send: Send): object {
  const head = { id: 'msg_bench000000000000000000000000000000000000000000', type: 'message', role: 'assistant' };
  const place = { item_id: head.id, output_index: 0, content_index: 0 };
  const part = (text: string): object => ({ type: 'output_text', annotations: [], logprobs: [], text });
  send('response.output_item.added', { output_index: 0, item: { ...head, status: 'in_progress', content: [] } });
  send('response.content_part.added', { ...place, part: part('') });
  for (const [index, delta] of pieces.entries()) {
    send('response.output_text.delta', { ...place, delta, logprobs: [], obfuscation: padding(index) });
  }
  const text = pieces.join('');
  const item = { ...head, status: 'completed', content: [part(text)] };
  send('response.output_text.done', { ...place, text, logprobs: [] });
  send('response.content_part.done', { ...place, part: part(text) });
  send('response.output_item.done', { output_index: 0, item });
  return item;
}

/** Sends a call's events and returns the finished item. */
function sendCall({ id, name, pieces }: ReplyCall, index: number, send: Send): object {
  const item = { id: `fc_bench${id}`, type: 'function_call', status: 'in_progress', arguments: '', call_id: id, name };
  const place = { item_id: item.id, output_index: index };
  send('response.output_item.added', { output_index: index, item });
  for (const [at, delta] of pieces.entries()) {
    send('response.function_call_arguments.delta', { ...place, delta, obfuscation: padding(at) });
  }
  const whole = pieces.join('');
  const done = { ...item, status: 'completed', arguments: whole };
  send('response.function_call_arguments.done', { ...place, arguments: whole });
  send('response.output_item.done', { output_index: index, item: done });
  return done;
}
