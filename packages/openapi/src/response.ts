import type { ToolResult } from '@treadle/core';
import type { HttpResponse } from '@treadle/core/ports';

/** What a response is read with. */
export interface ResponseReading {
  readonly method: string;
  readonly shownUrl: string;
  /** Bytes of the body that are shown. */
  readonly maxBytes: number;
  /** Texts that are taken out of what comes back. */
  readonly secrets: readonly string[];
}

/** Headers that say where it goes on. */
const TOLD: readonly string[] = ['location', 'link', 'retry-after', 'etag'];

const TEXT =
  /^(?:text\/.*|application\/(?:json|xml|javascript|yaml|x-yaml|x-ndjson|x-www-form-urlencoded|[\w.-]+\+(?:json|xml|yaml)))$/;

/** A response as a tool's result. A status of 400 and above is an error. */
export async function resultOf(response: HttpResponse, reading: ResponseReading): Promise<ToolResult> {
  const { status, headers } = response;
  const mediaType = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const isShown = mediaType === '' || TEXT.test(mediaType);
  const { text, bytes, truncated } = await read(response, isShown ? reading.maxBytes : 0);
  const clean = (shown: string): string => withoutSecrets(printable(shown), reading.secrets);
  const told = TOLD.flatMap((name) =>
    headers[name] === undefined ? [] : [`${name}: ${clean(headers[name]).slice(0, 1000)}`],
  );
  const size = headers['content-length'] ?? (truncated ? 'unknown' : String(bytes));
  const body = isShown
    ? clean(text)
    : bytes === 0
      ? ''
      : `[${clean(mediaType)}, ${size.slice(0, 20)} bytes, not shown]`;
  const note = isShown && truncated ? [`[cut after ${bytes} bytes]`] : [];
  const head = `${reading.method} ${clean(reading.shownUrl).slice(0, 2000)} → ${status}`;
  return {
    content: [[head, ...told].join('\n'), ...(body === '' ? [] : [body]), ...note].join('\n\n'),
    isError: status >= 400,
    details: { status, url: clean(reading.shownUrl).slice(0, 2000), mediaType, bytes, truncated },
  };
}

async function read(
  { body }: HttpResponse,
  most: number,
): Promise<{ text: string; bytes: number; truncated: boolean }> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of body) {
    const part = chunk.subarray(0, most - bytes);
    // Streamed, so that a character cut in two is left out.
    text += decoder.decode(part, { stream: true });
    bytes += part.length;
    // Leaving the loop ends the connection.
    if (part.length < chunk.length) return { text, bytes: most === 0 ? chunk.length : bytes, truncated: true };
  }
  return { text: text + decoder.decode(), bytes, truncated: false };
}

/** Control characters as their pictures, but line ends and tabs: what a server sends must not steer a terminal. */
const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, (control) => {
    const code = control.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd';
  });

/** Servers that say what they were sent must not tell a model the key. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])) {
      if (form.length >= 4) clean = clean.replaceAll(form, '[secret]');
    }
  }
  return clean;
}
