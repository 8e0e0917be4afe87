/** A command that bash refuses, and why. */
export interface DenyPattern {
  readonly pattern: RegExp;
  readonly reason: string;
}

const flags = String.raw`(?:\s+-[\w-]*){0,20}`;
const target = String.raw`(?:"|')?(?:/|~|\$HOME|\$\{HOME\})(?:/|/?\*|/\.)?(?:"|')?(?=$|[\s;&|)])`;

/**
 * What bash refuses when nothing else is given: `rm -r` of `/` or the home folder, making file systems, `dd if=`,
 * writing to a disk's device, fork bombs.
 *
 * Advice, not a boundary: it catches honest mistakes. A command can be spelt in endless ways that no pattern knows.
 */
export const defaultDenyPatterns: readonly DenyPattern[] = [
  {
    pattern: new RegExp(
      String.raw`\brm(?=${flags}\s+(?:-\w*[rR]|--recursive))${flags}(?:\s+--)?\s+(?:\S+\s+){0,50}?${target}`,
      'm',
    ),
    reason: 'it would delete the root or home folder',
  },
  { pattern: /\bmkfs(?:\.\w+)?(?=$|\s)/m, reason: 'it would make a new file system over a disk' },
  { pattern: /\bdd\s+(?:\S+\s+){0,20}?if=/, reason: 'dd copies raw data and can overwrite disks' },
  { pattern: />\s*\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)\w*/, reason: 'it would write over a disk' },
  { pattern: /(?<![\w:.])([\w:.]{1,100})\s?\(\s?\)\s*\{\s*\1\s?\|\s?\1\s?&\s*\}/, reason: 'it is a fork bomb' },
];

const longestChecked = 100_000;

/** The first pattern that `command` matches; undefined when none does. */
export function deniedBy(command: string, patterns: readonly DenyPattern[]): DenyPattern | undefined {
  // White space that a shell ignores must not hide a match; and a pattern never sees more than it can handle quickly.
  const text = command
    .slice(0, longestChecked)
    .replace(/\\\n/g, ' ')
    .replace(/[ \t]+/g, ' ');
  return patterns.find(({ pattern }) => {
    pattern.lastIndex = 0;
    return pattern.test(text);
  });
}
