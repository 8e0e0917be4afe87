import { mustBeWhole } from '../../check-numbers.ts';
import { errorText, TreadleError } from '../../errors.ts';
import { asJson, isJsonObject, type JsonObject, type JsonSchema, type JsonValue, parseJson } from '../../json.ts';
import type { Model, ResponseFormat } from '../../model/model.ts';
import type { ArgumentsIssue, Validator } from '../../ports/validator.ts';
import { shapeOf } from '../../tools/define/shape.ts';
import { refuseTypos } from '../../tools/define/schema-typos.ts';
import type { ToolParameters } from '../../tools/define/define-types.ts';
import { OUTPUT_TOOL } from '../../tools/stop-tool-names.ts';
import type { ArgumentsOutcome, Tool } from '../../tools/tool.ts';

/** How a model is held to a schema: by its provider, by the arguments of a tool, or by its instructions. */
export type OutputMode = 'native' | 'tool' | 'prompted';

/** The value a run is to come to. */
export interface OutputOptions<Schema extends ToolParameters = ToolParameters> {
  /** A JSON Schema, or any Standard Schema (Zod, Valibot, ArkType, …). It types `output` of the results. */
  readonly schema: Schema;
  /** What the model is told instead of the JSON Schema the Standard Schema would give, or because it gives none. */
  readonly jsonSchema?: JsonSchema;
  /** `auto`: what all of the agent's models can do, in the order native, tool, prompted. Default `auto`. */
  readonly mode?: OutputMode | 'auto';
  /** How many values may be wrong before the run ends with `invalid_output`, the last one not counted. Default 2. */
  readonly retries?: number;
  /** What the value is called: 1 to 64 letters, digits, `_` and `-`. Default `output`. */
  readonly name?: string;
  /** Tells the model what the value is. */
  readonly description?: string;
}

/** Structured output, ready for use: what it adds to an agent, and how a value is checked. */
export interface StructuredOutput {
  readonly mode: OutputMode;
  readonly retries: number;
  readonly schema: JsonSchema;
  /** Checks a value, and gives what the schema makes of it. */
  readonly check: (value: JsonValue, validator?: Validator | null) => ArgumentsOutcome | Promise<ArgumentsOutcome>;
  /** The arguments of the output tool as the value they hold. */
  readonly unwrap: (args: JsonObject) => JsonValue;
  readonly tool: Tool | null;
  readonly responseFormat: ResponseFormat | null;
  /** What stands behind the agent's own instructions. */
  readonly instructions: string | null;
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const refuse = (reason: string, cause?: unknown): never => {
  throw new TreadleError('invalid_definition', `output: ${reason}`, { cause });
};

/**
 * The agent's structured output; null for none.
 *
 * @throws TreadleError `invalid_definition` when the schema can't be checked or an option makes no sense.
 */
export function checkOutput(
  options: OutputOptions | undefined,
  models: readonly Model[],
  hasTools: boolean,
): StructuredOutput | null {
  if (options === undefined) return null;
  const { mode = 'auto', retries = 2, name = 'output', description } = options;
  mustBeWhole('output: retries', retries);
  if (!NAME.test(name)) refuse('name must be 1 to 64 letters, digits, "_" or "-".');
  if (!['auto', 'native', 'tool', 'prompted'].includes(mode)) {
    refuse('mode must be "auto", "native", "tool" or "prompted".');
  }
  refuseTypos(options.schema, 'schema', refuse);
  const { schema, check } = shapeOf(options.schema, options.jsonSchema, { what: 'schema', refuse });
  const chosen = mode === 'auto' ? bestMode(models, hasTools) : mode;
  const isObject = schema['type'] === 'object';
  const about = description === undefined ? '' : ` ${description}`;
  const unwrap = (args: JsonObject): JsonValue => (isObject ? args : (args['value'] ?? null));
  return Object.freeze<StructuredOutput>({
    mode: chosen,
    retries,
    schema,
    check,
    unwrap,
    tool:
      chosen === 'tool'
        ? outputTool(schema, isObject, about, (args, validator) => check(unwrap(args), validator))
        : null,
    responseFormat:
      chosen === 'native'
        ? { type: 'json_schema', name, schema, ...(description === undefined ? {} : { description }) }
        : null,
    instructions: instructionsOf(chosen, schema, about),
  });
}

/** What every model of the agent can do, so that a fallback is held to the same form. */
function bestMode(models: readonly Model[], hasTools: boolean): OutputMode {
  const isNative = ({ structuredOutput }: Model): boolean =>
    structuredOutput === 'always' || (structuredOutput === 'without_tools' && !hasTools);
  if (models.every(isNative)) return 'native';
  return models.every(({ toolCalling }) => toolCalling !== false) ? 'tool' : 'prompted';
}

function outputTool(schema: JsonSchema, isObject: boolean, about: string, check: Tool['check']): Tool {
  const wrapped: JsonSchema = { type: 'object', properties: { value: schema }, required: ['value'] };
  return Object.freeze({
    name: OUTPUT_TOOL,
    label: 'Answer',
    description: `Gives the final answer. Call it once, when all else is done, in place of writing an answer.${about}`,
    inputSchema: isObject ? schema : wrapped,
    runs: 'server',
    replay: 'safe',
    readOnly: true,
    execution: 'parallel',
    endsRun: true,
    check,
    execute: () => 'Taken as the answer.',
  });
}

function instructionsOf(mode: OutputMode, schema: JsonSchema, about: string): string | null {
  if (mode === 'native') return null;
  if (mode === 'tool') return `When you are done, give your final answer by calling ${OUTPUT_TOOL}.`;
  return (
    `When you are done, reply with the final answer as JSON and nothing else.${about} ` +
    `It must fit this JSON Schema:\n${JSON.stringify(schema)}`
  );
}

/** What is kept of a value: the value as the schema made it, or what is wrong with it. */
export type OutputDecision =
  { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly message: string };

/** Checks a value that came as one, or as text. A check that crashes has not passed. */
export async function askOutput(
  output: Pick<StructuredOutput, 'check' | 'mode'>,
  given: { readonly value: JsonValue } | { readonly text: string },
): Promise<OutputDecision> {
  const parsed = 'value' in given ? { value: given.value } : parsedAnswer(given.text);
  if ('problem' in parsed) return { ok: false, message: telling(output, [{ path: '', message: parsed.problem }]) };
  let outcome: ArgumentsOutcome;
  try {
    outcome = await output.check(parsed.value);
  } catch (thrown) {
    outcome = { ok: false, issues: [{ path: '', message: `could not be checked: ${errorText(thrown)}` }] };
  }
  if (!outcome.ok) return { ok: false, message: telling(output, outcome.issues) };
  const json = asJson(outcome.value);
  return json ? { ok: true, value: json.value } : { ok: false, message: 'The value the schema made is not JSON.' };
}

/** JSON, with or without a code fence around it. */
function parsedAnswer(text: string): { readonly value: JsonValue } | { readonly problem: string } {
  const trimmed = text.trim();
  const [, fenced] = /^```[a-zA-Z]*\n([^]*?)\n?```$/.exec(trimmed) ?? [];
  try {
    return { value: parseJson(fenced ?? trimmed) as JsonValue };
  } catch (thrown) {
    return { problem: `is not JSON (${errorText(thrown).slice(0, 200)})` };
  }
}

function telling({ mode }: Pick<StructuredOutput, 'mode'>, issues: readonly ArgumentsIssue[]): string {
  const lines = issues.map(({ path, message }) => `- ${path === '' ? 'the answer' : path}: ${message}`);
  const how = mode === 'tool' ? `Call ${OUTPUT_TOOL} with the whole answer.` : 'Reply with the whole answer, as JSON.';
  return `The answer doesn't fit its schema.\n${lines.join('\n')}\n${how}`;
}

/** A decision out of the log. What isn't one is a failure. */
export function asOutputDecision(answer: JsonValue): OutputDecision {
  if (isJsonObject(answer) && answer['ok'] === true) return { ok: true, value: answer['value'] ?? null };
  const message = isJsonObject(answer) ? answer['message'] : undefined;
  return { ok: false, message: typeof message === 'string' ? message : 'The answer was refused.' };
}
