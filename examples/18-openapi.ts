// An API as tools: each operation of an OpenAPI document is one. The model sees what to fill in; the address and the key are
// the program's. Reading runs by a rule for the host, and writing is denied here, because nothing allows it.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { createSession, defineAgent } from '@treadle/core';
import { openApiTools } from '@treadle/openapi';
import { scriptedModel } from '@treadle/testing';

// A shop on this machine, which wants a key.
const shop = createServer((request, response) => {
  const known = request.headers['x-key'] === 'sesame';
  response.writeHead(known ? 200 : 401, { 'content-type': 'application/json' });
  response.end(JSON.stringify(known ? { address: request.url, stock: 3 } : { error: 'who are you?' }));
});
await new Promise<void>((done) => shop.listen(0, '127.0.0.1', done));
const { port } = shop.address() as AddressInfo;

const sku = { name: 'sku', in: 'path', required: true, schema: { type: 'string' } };
const document = {
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  security: [{ key: [] }],
  paths: {
    '/items/{sku}': {
      parameters: [sku],
      get: { operationId: 'getItem', summary: 'How many of an item there are' },
      delete: { operationId: 'removeItem', summary: 'Takes an item off the shelf' },
    },
  },
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
};
const { tools, operations } = openApiTools(document, {
  baseUrl: `http://127.0.0.1:${port}/v1`,
  credentials: { key: 'sesame' },
  // Only public addresses are reached, but for those that are named.
  allow: ['127.0.0.1'],
});
for (const { toolName, method, path } of operations) console.log(`${toolName}: ${method} ${path}`);

const model = scriptedModel([
  { toolCalls: [{ name: 'getItem', arguments: { sku: 'tea/green' } }] },
  { toolCalls: [{ name: 'removeItem', arguments: { sku: 'tea/green' } }] },
  'There are three.',
]);
const session = await createSession(
  defineAgent({
    model,
    tools: [...tools],
    permissions: { mode: 'dontAsk', settings: [{ source: 'agent', allow: ['getItem(domain:127.0.0.1)'] }] },
  }),
);
const { text, messages, permissionDenials } = await session.prompt('How much green tea is there?').result;
for (const message of messages) {
  if (message.role !== 'tool' || message.isError) continue;
  for (const block of message.content) if (block.type === 'text') console.log(block.text.replace(String(port), 'PORT'));
}
console.log(`Denied: ${permissionDenials.map(({ toolName }) => toolName).join(', ')}`);
console.log(text);
shop.close();

/* Output:
getItem: GET /items/{sku}
removeItem: DELETE /items/{sku}
GET http://127.0.0.1:PORT/v1/items/tea%2Fgreen → 200

{"address":"/v1/items/tea%2Fgreen","stock":3}
Denied: removeItem
There are three.
*/
