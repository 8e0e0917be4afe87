// The code of a page: one text, colored by ranges over it. No markup is made of it.
import { element } from './dom.js';

const HTML =
  /(<!--[\s\S]*?(?:-->|$))|(<!doctype[^>]*>)|(<\/?[a-z][\w:-]*)|([\w:@.-]+)(?==["'])|("[^"]*"|'[^']*')|(\/?>)/gi;
const STYLE =
  /(\/\*[\s\S]*?(?:\*\/|$))|("[^"\n]*"|'[^'\n]*')|(@[\w-]+|[\w-]+(?=\s*:\s*[^{};]+[;}]))|(#[\da-f]{3,8}\b|-?\d*\.?\d+(?:%|[a-z]+)?)/gi;
const SCRIPT =
  /(\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\b(const|let|var|function|return|if|else|for|while|of|in|new|class|import|from|export|await|async|true|false|null|undefined|this|typeof|throw|try|catch)\b|(\b\d[\d._]*\b)/g;

const HTML_KINDS = ['comment', 'comment', 'tag', 'name', 'text', 'tag'];
const STYLE_KINDS = ['comment', 'text', 'name', 'number'];
const SCRIPT_KINDS = ['comment', 'text', 'word', 'number'];
const INNER = /<(style|script)\b[^>]*>([\s\S]*?)(?:<\/\1>|$)/gi;

/** The parts of a page that have a color, in order: kind, start and end. */
export function tokensOf(page) {
  const tokens = [];
  let at = 0;
  for (const inner of page.matchAll(INNER)) {
    const [whole, name, text] = inner;
    const start = inner.index + whole.indexOf('>') + 1;
    collect(tokens, page.slice(at, start), at, HTML, HTML_KINDS);
    const isStyle = name.toLowerCase() === 'style';
    collect(tokens, text, start, isStyle ? STYLE : SCRIPT, isStyle ? STYLE_KINDS : SCRIPT_KINDS);
    at = start + text.length;
  }
  collect(tokens, page.slice(at), at, HTML, HTML_KINDS);
  return tokens;
}

function collect(tokens, text, offset, pattern, kinds) {
  for (const match of text.matchAll(pattern)) {
    const kind = kinds[match.slice(1).findIndex((part) => part !== undefined)];
    if (kind) tokens.push({ kind, start: offset + match.index, end: offset + match.index + match[0].length });
  }
}

let shown = '';

/** Shows the code. While it is written, only what was added at its end is drawn. */
export function showCode(text) {
  if (text === shown) return;
  const pre = element('code').querySelector('pre');
  if (text.startsWith(shown) && pre.firstChild) pre.firstChild.appendData(text.slice(shown.length));
  else pre.replaceChildren(document.createTextNode(text));
  shown = text;
  // Browsers without this interface show it in one color.
  if (!globalThis.CSS?.highlights) return;
  const colored = Object.groupBy(tokensOf(text), ({ kind }) => kind);
  for (const kind of ['comment', 'tag', 'name', 'text', 'number', 'word']) {
    const ranges = (colored[kind] ?? []).map(({ start, end }) => {
      const range = new StaticRange({
        startContainer: pre.firstChild,
        startOffset: start,
        endContainer: pre.firstChild,
        endOffset: end,
      });
      return range;
    });
    CSS.highlights.set(`code-${kind}`, new Highlight(...ranges));
  }
}

/** Offers the page as a file, with the images that this server has inside it. */
export async function download(page, name) {
  let html = page;
  for (const path of new Set(page.match(/\/images\/[0-9a-f]{32}\.(?:png|jpg|webp|gif)/g) ?? [])) {
    const response = await fetch(path);
    if (response.ok) html = html.replaceAll(path, await dataUrl(await response.blob()));
  }
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([html], { type: 'text/html' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const dataUrl = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result));
    reader.addEventListener('error', () => reject(new Error('The file can not be read.')));
    reader.readAsDataURL(file);
  });
