/** A value that is still being put together. */
export type Draft<Value> = { -readonly [Key in keyof Value]: Value[Key] };
