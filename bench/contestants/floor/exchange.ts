// How the floor sends a request and cuts the reply: `fetch`, and the loop over the body that everybody writes.

/** Where a wire is spoken, and as whom. */
export interface Address {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Cuts what it is given, chunk by chunk. */
export type Cutter = (chunk: Uint8Array<ArrayBuffer>) => void;

/** Sends a request and gives every chunk of its reply to `cut`. */
export async function exchange({ url, headers }: Address, body: object, cut: Cutter): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok || !response.body) throw new Error(`The server answered with status ${response.status}.`);
  const stream: ReadableStream<Uint8Array<ArrayBuffer>> = response.body;
  const reader = stream.getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) cut(chunk.value);
}

/** The lines of a body that begin with `prefix`, without it. */
export function lines(prefix: string, onLine: (line: string) => void): Cutter {
  const decoder = new TextDecoder();
  let rest = '';
  return (chunk) => {
    const text = rest + decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      if (end > start && text.startsWith(prefix, start)) onLine(text.slice(start + prefix.length, end));
      start = end + 1;
    }
    rest = text.slice(start);
  };
}

/** The data of server-sent events that have one line of it each. */
export const serverSentEvents = (onData: (data: string) => void): Cutter => lines('data: ', onData);
