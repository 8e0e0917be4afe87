import type { Node } from 'web-tree-sitter';

/** What the shell makes of a word, or undefined when that is only known when it runs. */
export function literal(node: Node): string | undefined {
  switch (node.type) {
    case 'command_name': {
      const [only, ...more] = node.children;
      return only === undefined || more.length > 0 ? undefined : literal(only);
    }
    case 'word':
    case 'number':
      return node.namedChildCount > 0 ? undefined : unescape(node.text);
    case 'raw_string':
      return node.text.slice(1, -1);
    case 'ansi_c_string':
      return ansiC(node.text.slice(2, -1));
    case 'string':
      return node.namedChildren.every((child) => child.type === 'string_content') ? doubleQuoted(node.text) : undefined;
    case 'translated_string':
      return node.namedChild(0) === null ? undefined : literal(node.namedChild(0) ?? node);
    case 'concatenation':
      return joined(node);
    default:
      return undefined;
  }
}

function joined(node: Node): string | undefined {
  let text = '';
  for (const child of node.children) {
    const part = child.isNamed ? literal(child) : child.text;
    if (part === undefined) return undefined;
    text += part;
  }
  return text;
}

const unescape = (text: string): string =>
  text.replaceAll(/\\(\n|[^])/gu, (_, char: string) => (char === '\n' ? '' : char));

function doubleQuoted(text: string): string {
  return text
    .replace(/^\$/, '')
    .slice(1, -1)
    .replaceAll(/\\(["\\$`\n])/g, (_, char: string) => (char === '\n' ? '' : char));
}

const letters: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  e: '\u001b',
  E: '\u001b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The content of `$'…'`. */
function ansiC(text: string): string {
  return text.replaceAll(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|([^]))/g,
    (_, hex?: string, short?: string, long?: string, octal?: string, char?: string) => {
      const digits = hex ?? short ?? long;
      if (digits !== undefined) return codePoint(Number.parseInt(digits, 16));
      if (octal !== undefined) return codePoint(Number.parseInt(octal, 8) & 0xff);
      return letters[char ?? ''] ?? char ?? '';
    },
  );
}

const codePoint = (code: number): string => (code > 0x10_ff_ff ? '' : String.fromCodePoint(code));
