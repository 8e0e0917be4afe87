import type { JsonSchema } from '../json.ts';

/** One thing wrong with a value. `path` is a JSON pointer; the empty string is the whole value. */
export interface ArgumentsIssue {
  readonly path: string;
  readonly message: string;
}

/** A compiled schema. Call it with a value to get what is wrong with the value: an empty list when it fits. */
export interface ValueCheck {
  (value: unknown): readonly ArgumentsIssue[];
  /** The patterns of the schema that the check skips. The loop reports them in a warning. */
  readonly unchecked?: readonly string[];
}

/**
 * Checks values against JSON Schemas: the arguments of tools, and structured output. An agent takes it as `validator`.
 * A `compile` or a check that throws counts as a failed check.
 *
 * Core's own validator skips patterns, because JavaScript's engine can take exponential time. `re2Validator` of
 * `@treadle/tools` checks them in linear time.
 *
 * @example
 * ```ts
 * import type { Validator } from '@treadle/core/ports';
 * import { compileSchema } from '@treadle/core/json';
 *
 * const strings: Validator = { compile: (schema) => compileSchema(schema, (pattern) => (text) => text === pattern) };
 * console.log(strings.compile({ pattern: 'a' })('b').length); // 1
 * ```
 */
export interface Validator {
  compile(schema: JsonSchema): ValueCheck;
}

/** Makes a test of a pattern, or null when it can't check this pattern. Matches anywhere in the text. */
export type PatternMatcher = (pattern: string) => ((text: string) => boolean) | null;
