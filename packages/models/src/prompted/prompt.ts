import type { ToolDefinition } from '@treadle/core/model';
import { callElement, type CallForm } from './element.ts';
import { exampleCall } from './recovery.ts';
import { serverToolOf } from './names.ts';

/**
 * The parts of the instructions behind the agent's own, in this order. A text stands in place of the one that comes with
 * Treadle; an empty one leaves the part out.
 */
export interface PromptSections {
  /** What there is to work on. Default: nothing. */
  readonly repository?: string;
  /** What the model can do here. */
  readonly capabilities?: string;
  /** How a task goes on from reply to reply. */
  readonly agentLoop?: string;
  /** How to think before acting. */
  readonly reasoning?: string;
  /** How a tool is called. */
  readonly toolCalling?: string;
  /** What to heed when calling tools. */
  readonly rules?: string;
}

const CAPABILITIES =
  'You work with tools. You call one by writing it into your reply in the form below; it is executed, and the next ' +
  'message brings you its result.';

const AGENT_LOOP =
  'You work step by step. Each reply is one step: look at what the last result says, decide what comes next, and call ' +
  'the tool for it. Repeat this until the task is done, then give the answer.';

const REASONING =
  'Before a call, say in a sentence or two what you know, what is missing, and why this tool is the one to use. Write ' +
  'that in front of the call.';

const RULES_OF_ONE = '- One call in a reply, at its end. Wait for its result before the next one.';
const RULES_OF_SEVERAL = '- Several calls may stand in one reply when none needs the result of another.';

/** What decides the instructions besides the agent's own. */
export interface PromptOptions {
  readonly form: CallForm;
  readonly several: boolean;
  readonly sections: PromptSections;
}

/** The system prompt of a model that is to call these tools. The same input gives the same text. */
export function toolPrompt(custom: string, tools: readonly ToolDefinition[], options: PromptOptions): string {
  const { sections, form } = options;
  const parts = [
    custom,
    sections.repository ?? '',
    titled('What you can do', sections.capabilities ?? CAPABILITIES),
    titled('How you work', sections.agentLoop ?? AGENT_LOOP),
    titled('How you think', sections.reasoning ?? REASONING),
    titled('How you call a tool', sections.toolCalling ?? toolCalling(form)),
    titled('Your tools', toolList(tools)),
    titled('Rules', sections.rules ?? rules(options)),
  ];
  return parts.filter((part) => part.trim() !== '').join('\n\n');
}

const titled = (title: string, text: string): string => (text.trim() === '' ? '' : `# ${title}\n\n${text}`);

function toolCalling(form: CallForm): string {
  const inside =
    form === 'json'
      ? 'with one JSON object inside'
      : 'with the server, the name and the arguments inside, each argument in an element of its own name';
  return `Write one <tool> element, ${inside}:\n\n${exampleCall(form)}`;
}

function toolList(tools: readonly ToolDefinition[]): string {
  return tools
    .map(({ name, description, inputSchema: parameters }) => {
      const { server, tool } = serverToolOf(name);
      const head = `## ${tool}\n\nserver_name: ${server}\ntool_name: ${tool}`;
      return `${head}\n\n${description}\n\nJSON Schema of the arguments: ${JSON.stringify(parameters)}`;
    })
    .join('\n\n');
}

function rules({ form, several }: PromptOptions): string {
  const escaping =
    form === 'json'
      ? '- The object must be valid JSON: quotes, backslashes and line breaks inside of strings are escaped.'
      : `- In text, & is written &amp; and < is written &lt;. Longer texts may stand in <![CDATA[…]]>. A list has one element for each item: ${callElement('x', { names: ['a', 'b'] }, 'xml').replace(/^[^]*<arguments>|<\/arguments>[^]*$/g, '')}`;
  return [
    several ? RULES_OF_SEVERAL : RULES_OF_ONE,
    '- Always give server_name, tool_name and arguments. Call only tools from the list above.',
    escaping,
    '- No code fence around the element, and nothing behind it.',
    '- Never write a result yourself. Results come to you in <tool_result> elements.',
  ].join('\n');
}
