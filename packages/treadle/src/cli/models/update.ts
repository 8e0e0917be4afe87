import { errorText } from '@treadle/core';
import { nodeHttp } from '@treadle/models';
import { readCatalogue, type CatalogueFile, type CatalogueRow } from '@treadle/models/catalogue';

import type { CliIo } from '../io.ts';
import { UsageError } from '../usage-error.ts';

/** Bytes of a catalogue at most. The one that is built in has less than a hundredth of that. */
const MOST_BYTES = 20_000_000;

const TIMEOUT_MS = 30_000;

/** How often a price may be multiplied before somebody is asked. */
const JUMP = 5;

const isHere = (url: URL): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** A catalogue from an address, with its text. */
export async function fetchCatalogue(
  address: string,
  { env }: Pick<CliIo, 'env'>,
): Promise<CatalogueFile & { readonly text: string }> {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== 'https:' && !(url.protocol === 'http:' && isHere(url))))
    throw new UsageError(`'${address}' is not an address that a catalogue can come from: it must begin with https://.`);
  let text: string;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await nodeHttp({ env })({ method: 'GET', url: url.href, headers: {}, signal });
    if (response.status !== 200) throw new Error(`the server answered with status ${response.status}`);
    text = await textOf(response.body);
  } catch (error) {
    throw new UsageError(`There is no catalogue at ${url.href}: ${errorText(error)}. Nothing was changed.`);
  }
  return { ...readCatalogue(text), text };
}

const nameOf = ({ provider, id }: CatalogueRow): string => `${provider}/${id}`;

/** The prices that become more than five times what they were, or less than a fifth: such a change is often a mistake. */
export function priceJumps(before: readonly CatalogueRow[], after: readonly CatalogueRow[]): readonly string[] {
  const known = new Map(before.map((row) => [nameOf(row), row]));
  return after.flatMap((row) => {
    const [was, is] = [known.get(nameOf(row))?.prices?.[0], row.prices?.[0]];
    return (['input', 'output'] as const).flatMap((kind) => {
      const [old, now] = [was?.[kind] ?? 0, is?.[kind] ?? 0];
      if (!(old > 0) || (now < old * JUMP && now * JUMP > old)) return [];
      return [`${nameOf(row)}: ${kind} $${old} to $${now}`];
    });
  });
}
