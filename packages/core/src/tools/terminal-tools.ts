import type { JsonObject } from '../json.ts';
import { defineTool } from './define.ts';
import type { Tool } from './tool.ts';

/** The tools that end a run in words of the model's own. Their names are theirs alone. */
export type StopToolName = 'task_completion' | 'ask_question' | 'converse';

/** All that is ever said of their results: what they bring is for the user, and is in the call. */
const DELIVERED = 'Delivered to the user.';

const text = (description: string): { readonly type: 'string'; readonly description: string } => ({
  type: 'string',
  description,
});

const TERMINAL_TOOLS: ReadonlyMap<string, Tool> = new Map<StopToolName, Tool>([
  [
    'task_completion',
    defineTool({
      name: 'task_completion',
      label: 'Done',
      description: 'Ends the task. Call it once, when all of it is done, with the result for the user.',
      inputSchema: {
        type: 'object',
        properties: { result: text('What was done and what came of it, for the user to read.') },
        required: ['result'],
      },
      readOnly: true,
      terminal: true,
      execute: () => DELIVERED,
    }),
  ],
  [
    'ask_question',
    defineTool({
      name: 'ask_question',
      label: 'Question',
      description: 'Asks the user something you need to know before you can go on, and waits for the answer.',
      inputSchema: {
        type: 'object',
        properties: {
          question: text('One question.'),
          suggestions: { type: 'array', items: { type: 'string' }, description: 'Answers the user may choose from.' },
        },
        required: ['question'],
      },
      readOnly: true,
      terminal: true,
      execute: () => DELIVERED,
    }),
  ],
  [
    'converse',
    defineTool({
      name: 'converse',
      label: 'Message',
      description: 'Says something to the user when there is no task to do: an answer, a remark, a greeting.',
      inputSchema: { type: 'object', properties: { message: text('What to say.') }, required: ['message'] },
      readOnly: true,
      terminal: true,
      execute: () => DELIVERED,
    }),
  ],
]);

/** The built-in stop tools. */
export const stopTools = (): readonly Tool[] => [...TERMINAL_TOOLS.values()];

/** True for the names of the built-in stop tools, which no other tool may have. */
export const isStopToolName = (name: string): boolean => TERMINAL_TOOLS.has(name);

/** What a call of a built-in stop tool says to the user; null for other tools. */
export function stopToolText(name: string, args: JsonObject): string | null {
  const said = (key: string): string => (typeof args[key] === 'string' ? args[key] : '');
  if (name === 'task_completion') return said('result');
  if (name === 'converse') return said('message');
  if (name !== 'ask_question') return null;
  const { suggestions } = args;
  const lines = Array.isArray(suggestions) ? suggestions.map((suggestion) => `\n- ${String(suggestion)}`) : [];
  return said('question') + lines.join('');
}

/** The tool by which a model gives its value. The name is reserved. */
export const OUTPUT_TOOL = 'structured_output';
