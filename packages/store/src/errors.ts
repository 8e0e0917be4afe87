/** The code of an error of the system or of a library, such as `ENOENT`. */
export const codeOf = (thrown: unknown): unknown => (thrown as { readonly code?: unknown } | undefined)?.code;

/** The result of `work`; null when it fails with one of these codes. */
export async function unless<Value>(work: Promise<Value>, ...codes: readonly string[]): Promise<Value | null> {
  try {
    return await work;
  } catch (error) {
    if (!codes.some((code) => code === codeOf(error))) throw error;
    return null;
  }
}
