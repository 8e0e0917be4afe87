// Markdown pages in a published package: which ones it carries, and where their links lead.

import { posix } from 'node:path';

/** The pages below `docs/` that a text names, by path or by link. */
export function pagesNamedIn(text: string): readonly string[] {
  const named = [...text.matchAll(/\bdocs\/[\w./-]*?\.md\b/g)].map(([page]) => page);
  return [...new Set(named)].toSorted();
}

export interface Place {
  /** The page's path in the repository, such as `packages/core/README.md`. */
  readonly from: string;
  /** The page's path in the package, such as `README.md`. */
  readonly to: string;
  /** The files of the package, by their path in the repository. */
  readonly packed: ReadonlyMap<string, string>;
  /** The address of the repository, or empty. */
  readonly repository: string;
}

/**
 * Rewrites the links of a page for the package that carries it. A link to a file of the package stays relative. Any other
 * relative link leads to the repository; without a repository only its text stays.
 */
export function withLinksFor({ from, to, packed, repository }: Place, markdown: string): string {
  return markdown.replaceAll(
    /(!?)\[((?:`[^`\n]*`|[^\]])*)\]\(([^)\s]+)\)/g,
    (link, image: string, text: string, target: string) => {
      if (/^(?:[a-z]+:|#)/.test(target)) return link;
      const [path = '', anchor] = target.split('#');
      const file = posix.join(posix.dirname(from), path);
      const here = packed.get(file);
      const suffix = anchor === undefined ? '' : `#${anchor}`;
      if (here !== undefined) return `${image}[${text}](${posix.relative(posix.dirname(to), here)}${suffix})`;
      if (repository === '') return text;
      return `${image}[${text}](${repository}/${image === '' ? 'blob' : 'raw'}/HEAD/${file}${suffix})`;
    },
  );
}
