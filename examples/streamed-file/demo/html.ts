const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);

/** The parts that every demo page has, each color on a line of its own. */
export interface Look {
  readonly accent: string;
  readonly paper: string;
  readonly ink: string;
  readonly soft: string;
  readonly css: string;
  readonly body: string;
}

export const pageOf = (title: string, { accent, paper, ink, soft, css, body }: Look): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>
:root {
  --accent: ${accent};
  --paper: ${paper};
  --ink: ${ink};
  --soft: ${soft};
}
* { box-sizing: border-box; margin: 0; }
html { scroll-behavior: smooth; }
body { background: var(--paper); color: var(--ink); line-height: 1.6; -webkit-font-smoothing: antialiased; }
a { color: inherit; text-decoration: none; }
.note { max-width: 68rem; margin: 0 auto; padding: 4rem 1.5rem; }
.note h2 { margin-bottom: .75rem; font-size: 1.75rem; line-height: 1.2; }
.note p { max-width: 40rem; opacity: .8; }
${css.trim()}
</style>
</head>
<body>
${body.trim()}
</body>
</html>
`;
