import type { JsonSchema } from '@treadle/core';
import type { FromJsonSchema } from '@treadle/core/tools';

/** Letters, digits and a few marks: an id is a part of URLs, files' names and run ids. */
const SESSION_ID = '^[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}$';

const SESSION = new RegExp(SESSION_ID);

export const isSessionId = (text: string): boolean => SESSION.test(text);

/** An object with these properties and no others. */
function shape<
  const Properties extends Readonly<Record<string, JsonSchema>>,
  const Required extends readonly (keyof Properties & string)[] = [],
>(properties: Properties, ...required: Required) {
  return { type: 'object', properties, required, additionalProperties: false } as const;
}

const text = { type: 'string' } as const;
const object = { type: 'object' } as const;
const words = (description: string) => ({ type: 'string', description }) as const;

/** Content of a user's message; its blocks are checked in full before they come into a log. */
const content = { anyOf: [text, { type: 'array', items: object, minItems: 1 }] } as const;
const userInput: JsonSchema = { anyOf: [...content.anyOf, object] };
const isError = { type: 'boolean' } as const;

const results = <const Item extends JsonSchema>(items: Item) =>
  ({ type: 'array', minItems: 1, maxItems: 1000, items }) as const;

const sessionFacts = {
  id: { type: 'string', pattern: SESSION_ID, description: 'Of the new session. Default: a new one.' },
  title: { type: 'string', minLength: 1, maxLength: 200 },
  tags: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 64 }, maxItems: 32 },
} as const;

export const newSession = shape({
  ...sessionFacts,
  agent: words('Which of the server’s agents. Default: its first.'),
  metadata: { type: 'object', description: 'Data of yours, kept in the log.' },
});

export const fork = shape({
  ...sessionFacts,
  seq: { type: 'integer', minimum: 1, description: 'The last event they share. Default: the last one there is.' },
  metadata: object,
});

const runLimits = {
  type: 'object',
  additionalProperties: { type: 'number', exclusiveMinimum: 0 },
  description: 'Limits of this run, lower than the agent’s.',
} as const;

const runModel = words('The name of one of the models of the agent’s `routing`, or `default`, for this run.');

export const run = shape({
  input: { ...userInput, description: 'A text, blocks, or messages.' },
  clientTools: {
    type: 'array',
    items: shape({ name: text, description: text, inputSchema: object }, 'name', 'description', 'inputSchema'),
    description: 'Tools that you run yourself, in this run. Passed over where the server takes none.',
  },
  continue: { type: 'boolean', description: 'Go on with the conversation as it is, without a prompt.' },
  metadata: object,
  model: runModel,
  limits: runLimits,
});

export const message = shape({ input: userInput }, 'input');

export const cancellation = shape({ reason: text });

export const compaction = shape({ instructions: words('What a summary pays attention to.') });

export const conversation = shape(
  { messages: { type: 'array', items: object, description: 'As `…/history` has them, oldest first.' } },
  'messages',
);

export const permissions = shape({ updates: { type: 'array', minItems: 1, maxItems: 100, items: object } }, 'updates');

export const toolResults = shape(
  { results: results(shape({ callId: text, content, isError }, 'callId', 'content')) },
  'results',
);

const answer = {
  decision: { enum: ['approve', 'reject'] },
  message: words('Told to the model with a no.'),
  updatedInput: { type: 'object', description: 'Other arguments for the call.' },
} as const;

export const approval = shape(
  {
    ...answer,
    remember: { type: 'boolean', description: 'Let calls like this one run from now on, in this session.' },
    interrupt: { type: 'boolean', description: 'With a no: end the run.' },
  },
  'decision',
);
export type ApprovalRequest = FromJsonSchema<typeof approval>;

export const title = shape({ title: { ...sessionFacts.title, description: 'One line.' } }, 'title');

export const tags = shape({ add: sessionFacts.tags, remove: sessionFacts.tags });
export type TagsRequest = FromJsonSchema<typeof tags>;

const again = {
  ...sessionFacts,
  tag: { type: 'string', minLength: 1, maxLength: 200, description: 'Names the attempt. Default: the time.' },
  metadata: { type: 'object', description: 'Data of yours about the run, kept in the log.' },
  model: runModel,
  limits: runLimits,
} as const;

export const rerun = shape({ ...again, runId: words('The run. Default: the latest.') });

export const branch = shape({
  ...again,
  input: { ...userInput, description: 'What the branch is told. Without it, it goes on with the history as it is.' },
  instead: { anyOf: [text, { const: true }], description: 'From where this run, or with `true` the latest, began.' },
  seq: { type: 'integer', minimum: 1, description: 'From this event. Without either: from the end.' },
});
export type AgainRequest = FromJsonSchema<typeof rerun> & Omit<FromJsonSchema<typeof branch>, 'input'>;

export const branches = shape(
  {
    input: { ...userInput, description: 'What each branch is told. Without it, they go on with the history as it is.' },
    branches: {
      type: 'array',
      minItems: 1,
      items: shape({
        agent: words('One of the server’s agents. Default: the session’s.'),
        model: words('The name of one of the models of its `routing`.'),
      }),
      description: 'The ways to try, in order.',
    },
    strategy: words(
      'Chooses a branch: `first`, `fewest_tokens`, `most_tokens`, `vote`, `llm_judge`, `pairwise_judge`, or one of the ' +
        'server’s own. Default: `only`, for one branch.',
    ),
    judge: {
      ...shape({
        agent: words('Its model judges. Default: the session’s agent.'),
        model: words('The name of one of the models of its `routing`.'),
        instructions: words('What makes one answer better than another.'),
      }),
      description: 'Who judges, for `llm_judge` and `pairwise_judge`.',
    },
    metadata: object,
  },
  'branches',
);
export type BranchesRequest = Omit<FromJsonSchema<typeof branches>, 'input'>;

export const rewind = shape({
  ...sessionFacts,
  to: {
    anyOf: [{ type: 'integer', minimum: 1 }, text],
    description:
      'The message of the user, by its number or id, that is taken back with all after it. Default: the last.',
  },
});
export type RewindRequest = FromJsonSchema<typeof rewind>;

export const replay = shape({
  runId: words('The run to begin with. Default: the first.'),
  turn: { type: 'integer', minimum: 0, description: 'Its turn to begin with.' },
  model: { enum: ['agent', 'recorded'], description: 'Who replies. Default: the agent’s model.' },
  onMiss: {
    enum: ['stop', 'execute'],
    description: 'What becomes of calls without a recorded result. Default `stop`.',
  },
  keep: { type: 'boolean', description: 'Keep the fork in which it was replayed.' },
});
export type ReplayRequest = FromJsonSchema<typeof replay>;

export const answerTokens = shape({ callId: words('Only for this call. Default: for all that wait.') });

export const tokenAnswer = shape({
  ...answer,
  content: { ...content, description: 'The result of a client tool.' },
  isError,
  results: {
    ...results(shape({ token: text, content, isError }, 'token', 'content')),
    description: 'The results of several client tools, each with its token.',
  },
});
export type TokenAnswer = FromJsonSchema<typeof tokenAnswer>;
