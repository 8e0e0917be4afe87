import type { JsonObject, JsonSchema, JsonValue } from '../../json.ts';
import type { ToolResult, ToolReturn, ToolStream } from '../tool.ts';
import type { ToolResultContent } from '../../messages/content.ts';
import type { StandardInput, StandardOutput, StandardSchema } from './standard-schema.ts';

/** What a tool's `inputSchema` may be: a JSON Schema, or a schema of any library that implements Standard Schema. */
export type ToolParameters = JsonSchema | StandardSchema;

/** The type of the arguments `execute` gets: what a Standard Schema parses to, or what a JSON Schema literal says. */
export type ToolArguments<P extends ToolParameters> = P extends StandardSchema
  ? StandardOutput<P>
  : string extends keyof P
    ? JsonObject
    : FromJsonSchema<P> extends infer Arguments
      ? JsonValue extends Arguments
        ? JsonObject
        : Arguments
      : never;

/** The arguments as a model writes them and the log keeps them: before a Standard Schema transforms them. */
export type ToolInput<P extends ToolParameters> = P extends StandardSchema ? StandardInput<P> : ToolArguments<P>;

/** The type of the values that a schema lets pass; `undefined` without a schema. */
export type SchemaValue<S> = [S] extends [never]
  ? undefined
  : S extends StandardSchema
    ? StandardOutput<S>
    : string extends keyof S
      ? unknown
      : FromJsonSchema<S>;

/** What `execute` returns: whatever it likes, or what its `outputSchema` accepts. */
export type ReturnFor<S> = [S] extends [never]
  ? ToolReturn
  : (S extends StandardSchema ? StandardInput<S> : SchemaValue<S>) | ToolResult;

/** The `details` of a tool's results: data that it returned, or the `details` of a `ToolResult`. */
export type DetailsOf<S, Returned> = [S] extends [never]
  ? [Returned] extends [never]
    ? undefined
    : DataOf<Returned>
  : SchemaValue<S>;

type DataOf<Returned> = Returned extends { readonly content: unknown }
  ? Returned extends { readonly details: infer Details }
    ? Details
    : undefined
  : Returned extends string | null | undefined | void | ToolStream | readonly ToolResultContent[]
    ? undefined
    : Returned;

/**
 * The TypeScript type of the values a JSON Schema literal allows. Knows `const`, `enum`, `type` (also a list),
 * `properties` with `required`, `additionalProperties`, `items`, `anyOf`, `oneOf` and `nullable`; the rest is `JsonValue`.
 */
export type FromJsonSchema<S> =
  | (S extends { readonly const: infer Constant }
      ? Writable<Constant>
      : S extends { readonly enum: readonly (infer Choice)[] }
        ? Writable<Choice>
        : S extends { readonly type: infer Type }
          ? string extends Type
            ? JsonValue
            : FromType<Type extends readonly (infer Name)[] ? Name : Type, S>
          : S extends { readonly properties: JsonObject }
            ? FromType<'object', S>
            : S extends { readonly anyOf: readonly (infer Option)[] }
              ? FromEach<Option>
              : S extends { readonly oneOf: readonly (infer Option)[] }
                ? FromEach<Option>
                : JsonValue)
  | (S extends { readonly nullable: true } ? null : never);

type FromEach<Option> = Option extends unknown ? FromJsonSchema<Option> : never;

type FromType<Type, S> = Type extends 'string'
  ? string
  : Type extends 'number' | 'integer'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'null'
        ? null
        : Type extends 'array'
          ? S extends { readonly items: infer Items extends JsonObject }
            ? FromJsonSchema<Items>[]
            : JsonValue[]
          : Type extends 'object'
            ? FromObject<S>
            : JsonValue;

type FromObject<S> = S extends { readonly properties: infer Properties extends JsonObject }
  ? string extends keyof Properties
    ? JsonObject
    : keyof Properties extends never
      ? JsonObject
      : Flatten<FromProperties<Properties, RequiredOf<S>>>
  : S extends { readonly additionalProperties: infer Rest extends JsonObject }
    ? Record<string, FromJsonSchema<Rest>>
    : JsonObject;

type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

type FromProperties<Properties, Required> = {
  -readonly [Key in keyof Properties as Key extends Required ? Key : never]: FromJsonSchema<Properties[Key]>;
} & {
  -readonly [Key in keyof Properties as Key extends Required ? never : Key]?: FromJsonSchema<Properties[Key]>;
};

type Flatten<T> = { [Key in keyof T]: T[Key] };

/** Literals are inferred read-only; the values they describe aren't. */
type Writable<T> = T extends object ? { -readonly [Key in keyof T]: Writable<T[Key]> } : T;
