/**
 * A value that is still being put together. Adding what there is of it costs a fraction of a literal with spreads of what
 * there may be.
 */
export type Draft<Value> = { -readonly [Key in keyof Value]: Value[Key] };
