import { createRequire } from 'node:module';

import type { Theme } from '../screen/theme.ts';

/** What is used of highlight.js: its own types bring those of browsers with them. */
interface Engine {
  getLanguage(name: string): object | undefined;
  highlight(
    code: string,
    options: { readonly language: string; readonly ignoreIllegals: boolean },
  ): { readonly value: string };
}

type Highlight = (code: string, language: string) => string | null;

let highlight: Highlight | null = null;
let loading: Promise<void> | null = null;

/** Loads what colours code, once; until then code is shown as it is. `ready` is called when it is there. */
export function loadHighlighting(ready: () => void): void {
  loading ??= (async () => {
    const engine = createRequire(import.meta.url)('highlight.js/lib/common') as Engine;
    highlight = (code, language) =>
      engine.getLanguage(language) ? engine.highlight(code, { language, ignoreIllegals: true }).value : null;
  })();
  void loading.then(ready, () => {});
}

/** Code longer than this is shown as it is: colouring takes time. */
const LONGEST = 40_000;

/** The lines of code, coloured. Styles end with each line. */
export function codeLines(code: string, language: string, { syntax }: Theme): string[] {
  const html = syntax && language !== '' && code.length <= LONGEST ? highlight?.(code, language) : null;
  return (html && syntax ? paintedHtml(html, syntax) : code).split('\n');
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', '#x27': "'", '#39': "'" };
const PARTS = /<span class="([^"]*)">|<\/span>|([^<]+)/g;

/** Styles in place of the marks that the highlighter makes; it escapes everything else. */
function paintedHtml(html: string, paint: (kind: string, text: string) => string): string {
  const kinds: string[] = [];
  let text = '';
  for (const [mark, kind, part] of html.matchAll(PARTS)) {
    if (kind !== undefined) kinds.push(kind.replace(/^hljs-/, '').split(' ')[0] ?? '');
    else if (part === undefined) kinds.pop();
    else {
      const plain = mark.replaceAll(/&(#?\w+);/g, (entity, name: string) => ENTITIES[name] ?? entity);
      const innermost = kinds.at(-1);
      text += plain
        .split('\n')
        .map((line) => (innermost === undefined || line === '' ? line : paint(innermost, line)))
        .join('\n');
    }
  }
  return text;
}
