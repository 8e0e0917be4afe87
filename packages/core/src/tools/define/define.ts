import { refuseUnknownKeys } from '../../names/known-keys.ts';
import { TreadleError } from '../../errors.ts';
import { isJsonObject, type JsonObject, type JsonSchema } from '../../json.ts';
import type { ToolAccess } from '../access.ts';
import { checkedReturn } from './checked-return.ts';
import type { DetailsOf, ReturnFor, ToolArguments, ToolInput, ToolParameters } from './define-types.ts';
import { refuseTypos } from './schema-typos.ts';
import { shapeOf } from './shape.ts';
import type { ReplayPolicy, Tool, ToolContext } from '../tool.ts';

export { jsonCheck, standardCheck } from './shape.ts';

interface ToolOptionsBase<P extends ToolParameters, O extends ToolParameters = never> {
  /** For people; the name when absent. */
  readonly label?: string;
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** A JSON Schema of an object, or any Standard Schema (Zod, Valibot, ArkType, …). Absent: no arguments. */
  readonly inputSchema?: P;
  /** What the model is told instead of the JSON Schema the Standard Schema would give, or because it gives none. */
  readonly jsonSchema?: JsonSchema;
  /**
   * A JSON Schema or a Standard Schema of what `execute` returns, or of the `details` of a `ToolResult`. A result that
   * doesn't fit becomes an error that the model reads.
   */
  readonly outputSchema?: O;
  /** What may happen to a call cut off by a crash. `safe` for read-only tools, `never` for others. */
  readonly replay?: ReplayPolicy;
  /** True when the tool changes nothing anywhere. Default false. */
  readonly readOnly?: boolean;
  /** `sequential` keeps the tool's calls from overlapping other calls of their turn. Default `parallel`. */
  readonly execution?: 'parallel' | 'sequential';
  /** True when a call of the tool ends the run. Default false. */
  readonly endsRun?: boolean;
  /** True when its calls may run in the background wherever the agent has background tasks. Default false. */
  readonly background?: boolean;
  /** Keeps the definition out of the prompt when there are too many: `true` before others, `false` never. Default: after those. */
  readonly deferLoading?: boolean;
  /** Milliseconds a call may take. Absent: the agent's `toolTimeoutMs`. */
  readonly timeoutMs?: number;
  /**
   * Says what a call touches, so that rules can be about it. A tool that has it asks wherever nothing allows the call; one
   * without it, which is the application's own code, runs unless `approval` or a rule says otherwise.
   */
  readonly access?: (args: ToolArguments<P>) => ToolAccess | Promise<ToolAccess>;
  /** Whether a call has to be approved where no rule allows it: always, or when the function says so. Default: no. */
  readonly approval?: 'always' | ((args: ToolArguments<P>) => boolean | Promise<boolean>);
}

const KEYS: Readonly<Record<keyof ToolOptions, true>> = {
  name: true,
  label: true,
  description: true,
  inputSchema: true,
  jsonSchema: true,
  outputSchema: true,
  replay: true,
  readOnly: true,
  execution: true,
  endsRun: true,
  background: true,
  deferLoading: true,
  timeoutMs: true,
  access: true,
  approval: true,
  runs: true,
  execute: true,
};

/** What other libraries call these options. */
const INSTEAD = {
  parameters: 'inputSchema: { … }',
  input_schema: 'inputSchema: { … }',
  args: 'inputSchema: { … }',
  handler: 'execute: (args) => …',
  run: 'execute: (args) => …',
  invoke: 'execute: (args) => …',
  needsApproval: "approval: 'always'",
} as const;

/** What `defineTool` takes. A server tool has `execute`; a client tool is run by the connected client and has none. */
export type ToolOptions<
  P extends ToolParameters = JsonSchema,
  Name extends string = string,
  O extends ToolParameters = never,
  Returned extends ReturnFor<O> = ReturnFor<O>,
  Context = unknown,
> = ToolOptionsBase<P, O> & {
  /** 1 to 64 letters, digits, `_` and `-`. The model calls the tool by it. */
  readonly name: Name;
} & (
    | {
        readonly runs?: 'server';
        /** Does the work. What it throws becomes an error result the model reads. */
        readonly execute: (args: ToolArguments<P>, context: ToolContext<Context>) => Promise<Returned> | Returned;
      }
    | { readonly runs: 'client'; readonly execute?: never }
  );

/**
 * Defines a tool. The arguments of `execute` are typed by `inputSchema`, and checked before it is called. The JSON Schema
 * is made here, once: definitions are meant to live as long as the program.
 *
 * The agent's `validator` checks arguments against a JSON Schema; without one, {@link compileSchema} does, which skips
 * patterns. A schema that can't be followed, such as one with a foreign `$ref`, is refused here.
 *
 * @throws TreadleError `invalid_definition` when the definition can't work. The message says what to change.
 * @example
 * ```ts
 * import { defineTool } from '@treadle/core';
 *
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   inputSchema: {
 *     type: 'object',
 *     properties: { a: { type: 'number' }, b: { type: 'number' } },
 *     required: ['a', 'b'],
 *   },
 *   readOnly: true,
 *   execute: ({ a, b }) => String(a + b),
 * });
 * ```
 */
export function defineTool<
  const P extends ToolParameters = JsonSchema,
  Name extends string = string,
  const O extends ToolParameters = never,
  Returned extends ReturnFor<O> = never,
  Context = unknown,
>(
  definition: ToolOptions<P, Name, O, Returned, Context>,
): Tool<{
  name: Name;
  input: ToolInput<P>;
  details: DetailsOf<O, Returned>;
  context: Context;
  handsTo: never;
}> {
  if (typeof definition !== 'object' || definition === null) {
    refuse(undefined, 'defineTool takes one object. Write: defineTool({ name, description, inputSchema, execute })');
  }
  refuseUnknownKeys(`Tool ${JSON.stringify(definition.name)}`, definition, KEYS, INSTEAD);
  checkBasics(definition);
  const { name, description, label = name, readOnly = false, runs = 'server', execute, timeoutMs } = definition;
  const { access, approval } = definition;
  const given = definition.inputSchema === undefined ? {} : definition.inputSchema;
  refuseTypos(given, 'inputSchema', (reason) => refuse(name, reason));
  const { schema: inputSchema, check } = shapeOf(given, definition.jsonSchema, {
    what: 'inputSchema',
    refuse: (reason, cause) => refuse(name, reason, cause),
    complete: (schema) => objectSchema(name, schema),
  });
  const checked = checkedReturn(definition.outputSchema, (reason, cause) => refuse(name, reason, cause));
  return Object.freeze({
    name,
    label,
    description,
    inputSchema,
    runs,
    replay: definition.replay ?? (readOnly ? 'safe' : 'never'),
    readOnly,
    execution: definition.execution ?? 'parallel',
    endsRun: definition.endsRun ?? false,
    ...(definition.background === true && { background: true }),
    ...(definition.deferLoading !== undefined && { deferLoading: definition.deferLoading }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    check,
    // The loop hands over what `check` returned, which has this type.
    ...(access !== undefined && { access: (args: unknown) => access(args as ToolArguments<P>) }),
    ...(approval !== undefined && {
      approval: approval === 'always' ? approval : (args: unknown) => approval(args as ToolArguments<P>),
    }),
    ...(execute !== undefined && {
      // A session is only created with the `context` that its agent's tools want.
      execute: (args: unknown, context: ToolContext) =>
        checked(execute(args as ToolArguments<P>, context as ToolContext<Context>)),
    }),
  });
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

function refuse(name: unknown, reason: string, cause?: unknown): never {
  const which = typeof name === 'string' ? `Tool ${JSON.stringify(name)}` : 'A tool';
  throw new TreadleError('invalid_definition', `${which}: ${reason}`, { cause, details: { tool: name } });
}

const CHOICES: readonly (readonly [keyof ToolOptions, readonly unknown[]])[] = [
  ['runs', [undefined, 'server', 'client']],
  ['replay', [undefined, 'safe', 'never', 'ask']],
  ['execution', [undefined, 'parallel', 'sequential']],
  ['readOnly', [undefined, true, false]],
  ['endsRun', [undefined, true, false]],
  ['background', [undefined, true, false]],
  ['deferLoading', [undefined, true, false]],
];

/** The checks the type checker makes too, for definitions that never met one. */
function checkBasics(definition: { readonly [Key in keyof ToolOptions]?: unknown }): void {
  const { name, description, label, runs = 'server', execute, timeoutMs, access, approval } = definition;
  if (typeof name !== 'string' || !NAME.test(name)) {
    refuse(name, 'the name must be 1 to 64 letters, digits, "_" or "-".');
  }
  if (typeof description !== 'string' || description.trim() === '') {
    refuse(name, 'the description is empty. The model chooses tools by it: say what the tool does.');
  }
  if (label !== undefined && (typeof label !== 'string' || label === '')) refuse(name, 'the label must be a text.');
  for (const [key, allowed] of CHOICES) {
    if (allowed.includes(definition[key])) continue;
    const words = allowed.filter((choice) => choice !== undefined).map((choice) => JSON.stringify(choice));
    refuse(name, `${key} must be ${words.join(' or ')}.`);
  }
  if (runs === 'server' && typeof execute !== 'function') {
    refuse(name, 'execute is missing. A tool that the connected client runs says runs: "client".');
  }
  if (runs === 'client' && execute !== undefined) {
    refuse(name, 'a client tool has no execute: the connected client runs it and posts the result.');
  }
  if (access !== undefined && typeof access !== 'function') {
    refuse(name, 'access must be a function of the arguments.');
  }
  if (approval !== undefined && approval !== 'always' && typeof approval !== 'function') {
    refuse(name, 'approval must be "always" or a function of the arguments.');
  }
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs > 0 && Number.isFinite(timeoutMs))) {
    refuse(name, 'timeoutMs must be a positive number of milliseconds. Leave it out for no limit of its own.');
  }
}

/** Says what providers insist on: `type: "object"` and `properties`. Nobody else can change it later. */
function objectSchema(name: string, schema: JsonObject): JsonSchema {
  const { type } = schema;
  if (type === undefined ? onlyOtherTypes(schema) : type !== 'object') {
    refuse(name, 'inputSchema must have type "object": a model calls tools with named arguments.');
  }
  return Object.freeze({ type: 'object', ...schema, ...(schema['properties'] === undefined && { properties: {} }) });
}

/** True for a union none of whose members is an object. */
function onlyOtherTypes(schema: JsonObject): boolean {
  const options = schema['anyOf'] ?? schema['oneOf'];
  if (!Array.isArray(options) || options.length === 0) return false;
  return options.every(
    (option: unknown) => isJsonObject(option) && option['type'] !== undefined && option['type'] !== 'object',
  );
}
