import { TreadleError } from '../../errors.ts';
import type { Message } from '../../messages/message.ts';
import { defineTool } from '../../tools/define/define.ts';
import type { Tool, ToolContext } from '../../tools/tool.ts';
import { RECALL } from '../../messages/result-share.ts';
import { linesOfStream, pieceOfStream, wholeTexts } from './recall-whole.ts';

/** Characters one call returns unless it asks for another number, and at most. */
const DEFAULT_LIMIT = 20_000;
const MOST = 100_000;

/**
 * The tool with which a model reads back what was cut out of a result, or removed by a compaction. Agents with a `context`
 * have it, and other sessions once something was cut. It reads the session's own log: everything since the last reset or
 * import, and nothing of other sessions.
 */
export function recallTool(): Tool {
  return defineTool({
    name: RECALL,
    description:
      'Reads back parts of this conversation that were removed or shortened to save space. A note where they ' +
      'were gives the handle. Long texts come in pieces: go on with `offset`, or look for lines with `search`.',
    inputSchema: {
      type: 'object',
      properties: {
        handle: { type: 'string', description: 'The handle from the note.' },
        offset: { type: 'integer', minimum: 0, description: 'Characters to skip. Default 0.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MOST,
          description: `Characters at most. Default ${DEFAULT_LIMIT}.`,
        },
        search: { type: 'string', description: 'Returns only the lines that contain this text.' },
      },
      required: ['handle'],
      additionalProperties: false,
    },
    readOnly: true,
    async execute({ handle, offset = 0, limit: wanted = DEFAULT_LIMIT, search }, context) {
      const limit = Math.min(wanted, MOST, roomOf(context));
      const texts = (await keptTexts(context, handle)) ?? (await recalled(context, handle));
      if (texts === null) return { content: `Nothing in this conversation is named ${handle}.`, isError: true };
      return search === undefined || search === ''
        ? pieceOfStream(texts, offset, limit)
        : linesOfStream(texts, search, offset, limit);
    },
  });
}

/** Characters of one byte that a result has room for, with the line that says where to go on. */
const roomOf = ({ maxResultTokens = Infinity }: ToolContext): number => Math.max(1, 4 * maxResultTokens - 200);

/** What a handle names, where the whole of it is kept as a blob: it is read piece by piece, for it may be long. */
async function keptTexts({ readHistory, blobs }: ToolContext, handle: string): Promise<AsyncIterable<string> | null> {
  if (!readHistory || !blobs) return null;
  const [only, more] = await readHistory(handle);
  if (only?.role !== 'tool' || more) return null;
  const named = only.content.filter((block) => block.type === 'text' && block.whole?.id === handle);
  const blocks = named.length > 0 ? named.slice(0, 1) : only.content;
  return blocks.some((block) => block.type === 'text' && block.whole) ? wholeTexts(blocks, blobs) : null;
}

/** What a handle names, as text; null when it names nothing. */
async function recalled({ readHistory }: ToolContext, handle: string): Promise<readonly string[] | null> {
  if (!readHistory) throw new TreadleError('internal', 'This process gives its tools no history to read.');
  const found = await readHistory(handle);
  const [only] = found;
  if (only === undefined) return null;
  if (found.length === 1 && only.role !== 'assistant') return [bodyOf(only)];
  return [found.map((message) => `${headerOf(message)}\n${bodyOf(message)}`).join('\n\n')];
}

function headerOf(message: Message): string {
  if (message.role === 'tool') return `--- result of ${message.toolName} (${message.callId})`;
  return `--- ${message.role} (${message.id})`;
}

function bodyOf(message: Message): string {
  if (message.role === 'extension') return `(${message.kind})`;
  return message.content
    .map((block) => {
      if (block.type === 'text') return block.text;
      if (block.type === 'tool_call') return `(called ${block.name} with ${JSON.stringify(block.arguments)})`;
      return block.type === 'image' || block.type === 'file' ? `(${block.type}, ${block.mediaType})` : '';
    })
    .filter((text) => text !== '')
    .join('\n');
}
