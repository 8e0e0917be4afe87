/**
 * How a secret may stand in a text: as it is, as JSON and URLs have it, in hexadecimal, and in base64, also amid the base64
 * of a longer text. For longer texts that is all but the characters at both ends, which depend on what is beside it.
 */
export function secretSpellings(secret: string): ReadonlySet<string> {
  const bytes = new TextEncoder().encode(secret);
  const url = encodeURIComponent(secret.toWellFormed());
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const base64 = [encoded(bytes).replace(/=+$/, ''), ...[0, 1, 2].map((before) => amid(bytes, before))];
  return new Set([
    secret,
    JSON.stringify(secret).slice(1, -1),
    url,
    url.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    hex,
    hex.toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ]);
}

const encoded = (bytes: Uint8Array): string => btoa(String.fromCodePoint(...bytes));

/** The characters that are the same whatever is around the bytes, with so many bytes before them in a group of three. */
function amid(bytes: Uint8Array, before: number): string {
  const padded = new Uint8Array(before + bytes.length);
  padded.set(bytes, before);
  return encoded(padded).slice(Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6));
}
