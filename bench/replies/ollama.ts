import { timeAt } from './noise.ts';
import type { Reply } from './reply.ts';

/** A reply as the lines of Ollama's chat API. Calls come whole. */
export function ollamaLines(reply: Reply, model: string): string[] {
  const lines: string[] = [];
  const send = (message: object, end: object = { done: false }): void => {
    const line = { model, created_at: timeAt(lines.length), message: { role: 'assistant', content: '', ...message } };
    lines.push(`${JSON.stringify({ ...line, ...end })}\n`);
  };
  if (reply.type === 'text') for (const content of reply.pieces) send({ content });
  else {
    for (const [index, { id, name, pieces }] of reply.calls.entries()) {
      const args = JSON.parse(pieces.join('')) as unknown;
      send({ tool_calls: [{ id, function: { index, name, arguments: args } }] });
    }
  }
  const durations = { total_duration: 873_000_000, load_duration: 46_000_000, prompt_eval_duration: 31_000_000 };
  const counts = { prompt_eval_count: 640, eval_count: 48, eval_duration: 780_000_000 };
  send({}, { done: true, done_reason: 'stop', ...durations, ...counts });
  return lines;
}
