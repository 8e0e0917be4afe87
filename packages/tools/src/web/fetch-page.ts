import type { Http, ToolResult } from '@treadle/core';
import type { HttpResponse } from '@treadle/core/ports';
import { HttpProblem } from '@treadle/http';

import { safeText } from '../text/safe-text.ts';
import { htmlToText } from './html-text.ts';

/** What `web_fetch` works with. */
export interface FetchSettings extends Required<FetchLimits> {
  readonly http: Http;
}

export interface FetchLimits {
  /** Characters of a page's text per call. Default 50,000. */
  readonly maxCharacters?: number;
  /** Bytes of a body that are read, after unpacking. Default 5 MB. */
  readonly maxBytes?: number;
  /** What it says it is. Default `treadle`. */
  readonly userAgent?: string;
}

const ACCEPT = 'text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1';

/** Fetches a page and shows it as text. What goes wrong on the way is an error result. */
export async function fetchPage(
  { url, offset }: { readonly url: string; readonly offset: number },
  signal: AbortSignal,
  settings: FetchSettings,
): Promise<ToolResult> {
  try {
    const headers = { accept: ACCEPT, 'user-agent': settings.userAgent };
    const response = await settings.http({ method: 'GET', url, headers, signal });
    const final = new URL('url' in response && typeof response.url === 'string' ? response.url : url);
    const { location } = response.headers;
    if (response.status >= 300 && response.status < 400 && location !== undefined) {
      return await movedTo(response, location, final);
    }
    return await shown(response, final, offset, settings);
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    return { content: error.message, isError: true, details: { problem: error.code } };
  }
}

/** Another host is another permission: the model has to ask for it. */
async function movedTo(response: HttpResponse, location: string, from: URL): Promise<ToolResult> {
  await leave(response);
  const target = URL.parse(location, from.href)?.href ?? location;
  const shortened = safeText(target).slice(0, 2000);
  return {
    content: `${shownAddress(from)} redirects to another host: ${shortened}\nFetch that address if it is what you want.`,
    details: { status: response.status, url: from.href, redirect: shortened },
  };
}

/** Ends a response that nobody reads. */
async function leave({ body }: HttpResponse): Promise<void> {
  for await (const _ of body) break;
}

async function shown(
  response: HttpResponse,
  url: URL,
  offset: number,
  { maxBytes, maxCharacters }: FetchSettings,
): Promise<ToolResult> {
  const { status, headers } = response;
  const type = (headers['content-type'] ?? 'text/plain').toLowerCase();
  const mediaType = (type.split(';')[0] ?? '').trim();
  const isError = status >= 400;
  const facts = { status, url: url.href, mediaType };
  if (!isText(mediaType)) {
    await leave(response);
    const size = headers['content-length'] === undefined ? '' : `, ${headers['content-length']} bytes`;
    return {
      content: `${shownAddress(url)} · ${status} · ${safeText(mediaType)}${size}\nThat is no text, and is not shown.`,
      isError,
      details: facts,
    };
  }
  const { bytes, isCut } = await read(response, maxBytes);
  const source = decoderFor(type, bytes).decode(bytes);
  const isPage = mediaType === 'text/html' || mediaType === 'application/xhtml+xml';
  const page = isPage ? htmlToText(source, url) : { title: '', text: source };
  const text = safeText(page.text);
  const part = wholeCharacters(text, offset, offset + maxCharacters);
  const end = offset + part.length;
  const title = page.title === '' ? '' : ` · ${safeText(page.title).replaceAll('\n', ' ').slice(0, 200)}`;
  const notes = [
    ...(end < text.length
      ? [`Shown are characters ${offset} to ${end} of ${text.length}. Go on with offset ${end}.`]
      : []),
    ...(isCut ? [`The page is larger than ${maxBytes} bytes; the rest was not read.`] : []),
  ];
  const head = `${shownAddress(url)} · ${status} · ${safeText(mediaType)}${title}`;
  return {
    content: [head, '', part === '' ? '(no text)' : part, ...notes.map((note) => `\n[${note}]`)].join('\n'),
    isError,
    details: { ...facts, characters: text.length, truncated: end < text.length || isCut },
  };
}

const isText = (mediaType: string): boolean =>
  mediaType.startsWith('text/') ||
  /^application\/(?:xhtml\+xml|json|xml|javascript|ecmascript|yaml|x-yaml|toml|rtf|[\w.-]+\+(?:json|xml|yaml))$/.test(
    mediaType,
  );

async function read({ body }: HttpResponse, most: number): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > most) return { bytes: Buffer.concat(chunks).subarray(0, most), isCut: true };
  }
  return { bytes: Buffer.concat(chunks), isCut: false };
}

/** By the header, else by what the page says of itself at its beginning, else UTF-8. */
function decoderFor(type: string, bytes: Uint8Array): InstanceType<typeof TextDecoder> {
  const beginning = Buffer.from(bytes.subarray(0, 2048)).toString('latin1');
  const label =
    /charset\s*=\s*"?([\w:.-]{1,40})/.exec(type)?.[1] ??
    /<meta[^>]{0,200}charset\s*=\s*["']?([\w:.-]{1,40})/i.exec(beginning)?.[1];
  try {
    return new TextDecoder(label ?? 'utf-8');
  } catch {
    return new TextDecoder();
  }
}

/** A part of a text that cuts no character in two. */
function wholeCharacters(text: string, from: number, to: number): string {
  const last = text.charCodeAt(to - 1);
  return text.slice(from, to < text.length && last >= 0xd800 && last <= 0xdbff ? to - 1 : to);
}

/** An address as the model and the reader of a log see it: safe, and not longer than a few lines. */
const shownAddress = (url: URL): string => url.href.slice(0, 500);
