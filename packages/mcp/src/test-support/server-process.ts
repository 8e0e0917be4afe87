// An MCP server over standard input and output, with tools that fail in ways of their own.

import { appendFileSync, existsSync } from 'node:fs';
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

/** A file that has a line for each call which reached the server. */
const log = process.env['CALLS'];
const note = (what: string): void => {
  if (log !== undefined) appendFileSync(log, `${what}\n`);
};

if (process.env['FAIL'] !== undefined) {
  process.stderr.write(`No ${process.env['FAIL']} here.\n`);
  process.exit(3);
}

if (process.env['SILENT'] !== undefined) {
  // Reads and never answers.
  process.stdin.resume();
  await new Promise<void>((resolve) => process.stdin.once('end', resolve));
}

note('start');
const gate = process.env['GATE'];
// Answers nobody until all others have started too.
while (gate !== undefined && !existsSync(gate)) await new Promise((resolve) => setTimeout(resolve, 20));
serveStdio(() => {
  const server = new McpServer({ name: 'test', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });
  server.registerTool('pid', { description: 'The process.' }, () => text(String(process.pid)));
  server.registerTool('die', { description: 'Ends the process.' }, () => {
    note('die');
    process.exit(1);
  });
  server.registerTool('hang', { description: 'Never answers.' }, async ({ mcpReq }) => {
    note('hang');
    mcpReq.signal.addEventListener('abort', () => note('cancelled'));
    return new Promise<never>(() => {});
  });
  server.registerTool('env', { description: 'A variable.', inputSchema: z.object({ name: z.string() }) }, ({ name }) =>
    text(process.env[name] ?? 'unset'),
  );
  server.registerTool('grow', { description: 'Adds a tool.' }, () => {
    server.registerTool('grown', { description: 'New.' }, () => text('I am new.'));
    return text('grown');
  });
  server.registerTool('order', { description: 'Orders what the user wants.' }, async ({ mcpReq }) => {
    note(`order ${String(mcpReq.requestState())}`);
    const answer = mcpReq.inputResponses?.['what'];
    if (answer === undefined) {
      return inputRequired({
        requestState: 'reserved-7',
        inputRequests: {
          what: inputRequired.elicit({
            message: 'What shall it be?',
            requestedSchema: z.object({ item: z.string(), count: z.number().default(1) }),
          }),
        },
      });
    }
    const said = acceptedContent(mcpReq.inputResponses, 'what');
    return text(said ? `Ordered ${JSON.stringify(said)} by ${String(mcpReq.requestState())}.` : 'Nothing ordered.');
  });
  server.registerPrompt(
    'greet',
    { description: 'Greets somebody.', argsSchema: z.object({ name: z.string() }) },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name} warmly.` } }] }),
  );
  return server;
});
