import type { StopToolName } from './stop-tool-names.ts';
import { defineTool } from './define/define.ts';
import type { Tool } from './tool.ts';

/** All that is ever said of their results: what they bring is for the user, and is in the call. */
const DELIVERED = 'Delivered to the user.';

const text = (description: string): { readonly type: 'string'; readonly description: string } => ({
  type: 'string',
  description,
});

const STOP_TOOLS: ReadonlyMap<string, Tool> = new Map<StopToolName, Tool>([
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
      endsRun: true,
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
      endsRun: true,
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
      endsRun: true,
      execute: () => DELIVERED,
    }),
  ],
]);

/** The built-in stop tools. */
export const stopTools = (): readonly Tool[] => [...STOP_TOOLS.values()];
