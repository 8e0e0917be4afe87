// A process with a session in files whose tool gives a hundred megabytes. Prints what came of it, and the memory it took.
import { createSession, defineAgent, defineTool, type ToolResultContent } from '@treadle/core';
import { recallTool } from '@treadle/core/context';
import { fileBlobs, fileJournal } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';
import { bashTool } from '@treadle/tools';
import { join } from 'node:path';

const [folder = '', kind = ''] = process.argv.slice(2);
const MB = 2 ** 20;
const LINE = `${'0123456789abcdef'.repeat(4).slice(0, 63)}\n`;
const PIECE = LINE.repeat(1024);

const generate = defineTool({
  name: 'bash',
  description: 'Streams.',
  inputSchema: { type: 'object' },
  async *execute({ small }) {
    for (let written = 0; written < (small === true ? 1 : 100 * MB); written += PIECE.length) yield PIECE;
  },
});
const bash = bashTool({ root: folder, maxOutputBytes: 200 * MB, sandbox: 'off' });

const journal = fileJournal({ folder: join(folder, 'sessions') });
const blobs = fileBlobs({ folder: join(folder, 'blobs') });
const command = `yes ${LINE.trim()} | head -c ${100 * MB}`;
let handle = '';
const agent = defineAgent({
  tools: [kind === 'bash' ? bash : generate, recallTool()],
  permissions: { mode: 'bypass', allowBypass: true },
  model: scriptedModel([
    // Once small: what a parser of commands or a file system takes to begin with is not what is measured.
    { toolCalls: [{ name: 'bash', arguments: kind === 'bash' ? { command: 'echo small' } : { small: true } }] },
    'Ready.',
    { toolCalls: [{ name: 'bash', arguments: kind === 'bash' ? { command } : {} }] },
    ({ messages }) => {
      const said = messages.at(-1);
      handle = said?.role === 'tool' ? said.callId : '';
      return { toolCalls: [{ name: 'recall', arguments: { handle, offset: 50 * MB, limit: 8 } }] };
    },
    'Done.',
  ]),
});
const session = await createSession(agent, { id: 's', journal, blobs });
await session.prompt('Get ready.').result;
const held = (): number => {
  // What is left when all garbage is gone: when that is collected is nobody's promise. What the first time finds of buffers is
  // freed beside the program; the second time waits for that.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const before = held();
let most = 0;
const watch = setInterval(() => {
  most = Math.max(most, held());
}, 500);
const { status } = await session.prompt('Go.').result;
clearInterval(watch);
const results: (readonly ToolResultContent[])[] = [];
for await (const event of journal.read('s', 1)) if (event.type === 'tool_ended') results.push(event.content);
const [first] = results[1] ?? [];
const [second] = results[2] ?? [];
console.log(
  JSON.stringify({
    status,
    grownMb: Math.round((most - before) / MB),
    shown: first?.type === 'text' ? first.text.length : 0,
    notice: first?.type === 'text' ? /\[… .* …\]/.exec(first.text)?.[0] : '',
    whole: first?.type === 'text' ? first.whole?.size : 0,
    recalled: second?.type === 'text' ? second.text : '',
  }),
);
await journal.close();
