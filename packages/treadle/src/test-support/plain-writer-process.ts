// What a terminal is measured against: the same reply, read from the same server and written as it comes. It stays, so that
// it can be looked at.

import process from 'node:process';

const [url = ''] = process.argv.slice(2);
const body = { model: 'x', max_tokens: 100, stream: true, messages: [{ role: 'user', content: 'Go' }] };
const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'any' };
process.stdout.write('ready\n');
process.stdin.once('data', () => {
  void (async () => {
    const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body) });
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      for (const line of decoder.decode(bytes as Uint8Array, { stream: true }).split('\n')) {
        if (!line.startsWith('data: ')) continue;
        const event = JSON.parse(line.slice(6)) as { delta?: { text?: string } };
        if (event.delta?.text !== undefined) process.stdout.write(event.delta.text);
      }
    }
    process.stdout.write('\nover\n');
  })();
});
process.stdin.resume();
