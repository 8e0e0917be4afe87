import type { JsonSchema } from '../json.ts';
import type { StopToolName } from './stop-tool-names.ts';
import { defineTool } from './define/define.ts';
import type { Tool } from './tool.ts';

/** All that is ever said of their results: what they bring is for the user, and is in the call. */
const DELIVERED = 'Delivered to the user.';

const text = (description: string): JsonSchema => ({ type: 'string', description });

/** The first of its arguments is required. */
const stopTool = (
  name: StopToolName,
  label: string,
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
): Tool =>
  defineTool({
    name,
    label,
    description,
    inputSchema: { type: 'object', properties, required: Object.keys(properties).slice(0, 1) },
    readOnly: true,
    endsRun: true,
    execute: () => DELIVERED,
  });

const STOP_TOOLS: readonly Tool[] = [
  /* @__PURE__ */ stopTool(
    'task_completion',
    'Done',
    'Ends the task. Call it once, when all of it is done, with the result for the user.',
    { result: text('What was done and what came of it, for the user to read.') },
  ),
  /* @__PURE__ */ stopTool(
    'ask_question',
    'Question',
    'Asks the user something you need to know before you can go on, and waits for the answer.',
    {
      question: text('One question.'),
      suggestions: { type: 'array', items: { type: 'string' }, description: 'Answers the user may choose from.' },
    },
  ),
  /* @__PURE__ */ stopTool(
    'converse',
    'Message',
    'Says something to the user when there is no task to do: an answer, a remark, a greeting.',
    { message: text('What to say.') },
  ),
];

/** The built-in stop tools. */
export const stopTools = (): readonly Tool[] => STOP_TOOLS;
