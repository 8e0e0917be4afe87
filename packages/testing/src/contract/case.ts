/** One case: throws an `AssertionError` when the implementation breaks the contract. */
export interface ContractCase {
  readonly name: string;
  run(): Promise<void>;
}

/** The cases of a contract by their names. Each gets a fresh subject. */
export type Cases<Under, Options = unknown> = Readonly<
  Record<string, (under: Under, options: Options) => Promise<void>>
>;

/** The cases of a contract with a subject for each, which is disposed of after the case. */
export function contractOf<Under extends { readonly dispose?: () => Promise<void> }, Options>(
  cases: Cases<Under, Options>,
  make: () => Under | Promise<Under>,
  options: Options,
): ContractCase[] {
  return Object.entries(cases).map(([name, test]) => ({
    name,
    async run() {
      const under = await make();
      try {
        await test(under, options);
      } finally {
        await under.dispose?.();
      }
    },
  }));
}
