/** A request that the server answered with an error. Its codes are stable. */
export class ClientError extends Error {
  readonly code: string;
  /** The HTTP status. */
  readonly status: number;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'ClientError';
    this.status = status;
    this.code = code;
  }
}

/** Whether the same request may have another answer later. */
export const isPassing = (error: unknown): boolean =>
  !(error instanceof ClientError) || error.status === 429 || error.status >= 500;

/** An answer that is no success, as an error. */
export async function errorOf(response: Response): Promise<ClientError> {
  const text = await response.text().catch(() => '');
  try {
    const { code = 'internal', detail = text } = JSON.parse(text) as { code?: string; detail?: string };
    return new ClientError(response.status, code, detail);
  } catch {
    return new ClientError(response.status, 'internal', `The server answered ${response.status}.`);
  }
}
