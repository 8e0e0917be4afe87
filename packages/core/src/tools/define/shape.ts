import { errorText } from '../../errors.ts';
import { asJson, isJsonObject, type JsonObject, type JsonSchema, type JsonValue, TOO_DEEP } from '../../json.ts';
import { pointerOf, MAX_ISSUES } from '../../json-schema/run.ts';
import { compileSchema } from '../../json-schema/validate.ts';
import type { ArgumentsIssue, Validator, ValueCheck } from '../../ports/validator.ts';
import type { ArgumentsOutcome } from '../tool.ts';
import { isStandardSchema, type StandardIssue, type StandardResult, type StandardSchema } from './standard-schema.ts';

/** A schema as a model is told of it, and the check of values against it. */
interface Shape {
  readonly schema: JsonSchema;
  readonly check: (value: JsonValue, validator?: Validator | null) => ArgumentsOutcome | Promise<ArgumentsOutcome>;
}

interface ShapeOptions {
  /** The option that has the schema, for messages. */
  readonly what: string;
  readonly refuse: (reason: string, cause?: unknown) => never;
  /** False for a schema that only checks: no model is told of it. Default true. */
  readonly isTold?: boolean;
  /** Makes the last changes to the JSON Schema. */
  readonly complete?: (schema: JsonObject) => JsonSchema;
}

/** Reads a schema of a definition, a JSON Schema or a Standard one. `jsonSchema` is what a model is told of the latter. */
export function shapeOf(
  given: JsonSchema | StandardSchema,
  jsonSchema: JsonSchema | undefined,
  options: ShapeOptions,
): Shape {
  const { what, refuse, complete = (schema) => Object.freeze(schema), isTold = true } = options;
  const standard = isStandardSchema(given) ? given : null;
  if (standard && !isTold) return { schema: {}, check: standardCheck(standard) };
  if (!standard && jsonSchema !== undefined) return refuse('jsonSchema is only for Standard Schemas.');
  const told = standard ? (jsonSchema ?? jsonSchemaOf(standard, options)) : given;
  if (!isJsonObject(told)) return refuse(`${what} must be a JSON Schema object or a Standard Schema.`);
  const copy = asJson(told)?.value;
  if (copy === undefined || !isJsonObject(copy)) return refuse(`${what} is not plain JSON data, or is ${TOO_DEEP}.`);
  const { $schema: _dialect, ...rest } = copy;
  const schema = complete(rest);
  if (standard) return { schema, check: standardCheck(standard) };
  const [problem] = compileSchema(schema).problems;
  if (problem !== undefined) return refuse(`${what} at #${problem.path} ${problem.message}.`);
  return { schema, check: jsonCheck(schema) };
}

/** Asks a Standard Schema for the JSON Schema of what it accepts. */
function jsonSchemaOf(schema: StandardSchema, { what, refuse }: ShapeOptions): unknown {
  const { vendor, jsonSchema } = schema['~standard'];
  const advice = 'Give the jsonSchema option, which the model is told instead.';
  if (jsonSchema === undefined) return refuse(`${vendor} schemas can't be turned into a JSON Schema. ${advice}`);
  try {
    return jsonSchema.input({ target: 'draft-2020-12' });
  } catch (thrown) {
    return refuse(`${vendor} could not turn ${what} into a JSON Schema: ${errorText(thrown)} ${advice}`, thrown);
  }
}

const CORE_VALIDATOR: Validator = { compile: (schema) => compileSchema(schema) };

/** The check of a JSON Schema. Each validator compiles the schema once, at its first call. */
export function jsonCheck(schema: JsonSchema): (value: JsonValue, validator?: Validator | null) => ArgumentsOutcome {
  const compiled = new WeakMap<Validator, ValueCheck>();
  return (args, given) => {
    const validator = given ?? CORE_VALIDATOR;
    const check = compiled.get(validator) ?? validator.compile(schema);
    compiled.set(validator, check);
    const issues = check(args);
    if (issues.length > 0) return { ok: false, issues };
    return { ok: true, value: args, ...(check.unchecked?.length && { unchecked: check.unchecked }) };
  };
}

/** The check of a Standard Schema. Never throws. */
export function standardCheck(
  schema: StandardSchema,
): (value: JsonValue) => ArgumentsOutcome | Promise<ArgumentsOutcome> {
  const standard = schema['~standard'];
  return (args) => {
    try {
      const result = standard.validate(args);
      return result instanceof Promise ? result.then(outcomeOf, crashed) : outcomeOf(result);
    } catch (thrown) {
      return crashed(thrown);
    }
  };
}

function outcomeOf(result: StandardResult<unknown>): ArgumentsOutcome {
  if (result.issues === undefined) return { ok: true, value: result.value };
  const issues = result.issues.slice(0, MAX_ISSUES).map(issueOf);
  return { ok: false, issues: issues.length > 0 ? issues : [{ path: '', message: 'is not valid' }] };
}

function issueOf(issue: StandardIssue): ArgumentsIssue {
  const keys = (issue.path ?? []).map((segment) => (typeof segment === 'object' ? segment.key : segment));
  return { path: pointerOf(keys), message: issue.message };
}

/** A check that crashes hasn't passed. */
function crashed(thrown: unknown): ArgumentsOutcome {
  return { ok: false, issues: [{ path: '', message: `could not be checked: ${errorText(thrown)}` }] };
}
