/** An object without its fields that are undefined, for options that may be left out and can't be undefined. */
export function defined<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name] } & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
} {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as ReturnType<typeof defined<Fields>>;
}
