import { defineTool } from '../../tools/define/define.ts';
import { SEARCH_TOOLS } from '../../tools/tool-search-names.ts';
import type { Tool, ToolResult } from '../../tools/tool.ts';
import { indexTools, type ToolIndex } from './ranking.ts';

/** Characters of definitions that one search returns at most. */
const MOST_CHARACTERS = 60_000;

const DESCRIPTION =
  'Finds tools by what they do. Most tools are not listed here: search before you say that something can not be done. ' +
  'Returns the name, the description and the inputSchema of the tools that fit best. ' +
  'Call one of them by call_tool, or by its own name where there is no call_tool.';

/** The tool with which a model finds tools whose definitions are not in its prompt. */
export function searchTool(lists: () => readonly (readonly Tool[])[], most: number): Tool {
  let made: { readonly of: readonly (readonly Tool[])[]; readonly index: ToolIndex<Tool> } | null = null;

  /** Made when it is first needed, and again after a change. */
  function index(): ToolIndex<Tool> {
    const of = lists();
    if (made?.of.length !== of.length || of.some((list, at) => list !== made?.of[at])) {
      const byName = new Map(of.flat().map((tool) => [tool.name, tool]));
      made = { of, index: indexTools([...byName.values()]) };
    }
    return made.index;
  }

  return defineTool({
    name: SEARCH_TOOLS,
    description: DESCRIPTION,
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: 'What the tool should do, in a few words, such as "cancel an order"; or the name of a tool.',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    readOnly: true,
    execute: ({ query }, { maxResultTokens = Infinity, isDenied = () => false }) =>
      found(
        index().find(query, most, (name) => !isDenied(name)),
        Math.min(MOST_CHARACTERS, 4 * maxResultTokens - 200),
      ),
  });
}

/** As many definitions as there is room for; the rest without their schemas. */
function found(tools: readonly Tool[], room: number): ToolResult {
  if (tools.length === 0)
    return { content: 'No tool has any of these words. Search in other words.', details: { tools: [] } };
  let left = room;
  const shown: string[] = [];
  for (const { name, description, inputSchema } of tools) {
    const whole = JSON.stringify({ name, description, inputSchema });
    const text = whole.length <= left ? whole : JSON.stringify({ name, description: description.slice(0, 300) });
    if (text.length > left) break;
    left -= text.length + 2;
    shown.push(text);
  }
  return { content: `[${shown.join(',\n')}]`, details: { tools: tools.map(({ name }) => name) } };
}
