/** An object without its fields that are undefined. */
export const defined = <Facts extends object>(
  facts: Facts,
): { readonly [Key in keyof Facts]?: Exclude<Facts[Key], undefined> } =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as typeof facts;
