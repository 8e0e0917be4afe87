/** The media type of an image that models accept, by its first bytes; undefined for anything else. */
export function imageType(start: Uint8Array): string | undefined {
  const text = Buffer.from(start.subarray(0, 16)).toString('latin1');
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'image/gif';
  if (text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP') return 'image/webp';
  return undefined;
}
