import { escaped } from './html.ts';

/** A change that the demo can make: the texts to replace. */
export interface Change {
  readonly edits: readonly { readonly old_text: string; readonly new_text: string }[];
}

const COLORS: Readonly<Record<string, string>> = {
  red: '#d6304a',
  orange: '#e8590c',
  yellow: '#f5b301',
  green: '#2b8a3e',
  teal: '#0c8599',
  blue: '#2563eb',
  purple: '#7c3aed',
  violet: '#7c3aed',
  pink: '#db2777',
  brown: '#8a5a2b',
  black: '#1a1a1a',
};

/**
 * What the request changes on a demo page. It knows colors, dark and light, and texts in quotes; of anything else it makes a
 * section.
 */
export function changeOf(page: string, asked: string): Change {
  const color = Object.keys(COLORS).find((name) => new RegExp(`\\b${name}\\b`, 'i').test(asked));
  const title = /\b(?:title|headline|heading|h1|titled)\b[^"“]*["“]([^"”]+)["”]/i.exec(asked)?.[1];
  const edits = [
    ...(title === undefined ? [] : replaced(page, /<h1>[^<]*<\/h1>/, `<h1>${escaped(title)}</h1>`)),
    ...(color === undefined ? [] : replaced(page, /--accent: [^;]+;/, `--accent: ${COLORS[color]};`)),
    ...(/\bdark/i.test(asked) ? theme(page, '#101216', '#f2f2f0', '#1d2026') : []),
    ...(/\b(?:light|bright)/i.test(asked) ? theme(page, '#fbfbf8', '#17191c', '#ffffff') : []),
  ];
  if (edits.length > 0) return { edits };
  const words = asked.replaceAll(/\s+/g, ' ').trim();
  const subject =
    /\b(?:about|add)\b (?:an? |the |some )?(?:section (?:about|on|for|with) )?(.{2,60}?)(?: section)?[.!]?$/i.exec(
      words,
    )?.[1];
  const heading = subject ?? 'A note';
  const section =
    `<section class="note"><h2>${escaped(heading.charAt(0).toUpperCase() + heading.slice(1))}</h2>` +
    `<p>You asked: ${escaped(words)}</p></section>\n</main>`;
  return { edits: replaced(page, /<\/main>/, section) };
}

const theme = (page: string, paper: string, ink: string, soft: string): Change['edits'] => [
  ...replaced(page, /--paper: [^;]+;/, `--paper: ${paper};`),
  ...replaced(page, /--ink: [^;]+;/, `--ink: ${ink};`),
  ...replaced(page, /--soft: [^;]+;/, `--soft: ${soft};`),
];

function replaced(page: string, old: RegExp, now: string): Change['edits'] {
  const found = old.exec(page)?.[0];
  return found === undefined || found === now ? [] : [{ old_text: found, new_text: now }];
}
