import type { RuleSource } from '../events/permission-updates.ts';

/** A rule that was read. */
export interface PermissionRule {
  /** As it was written, for people and logs. */
  readonly text: string;
  readonly tool: ToolPattern;
  readonly specifier: Specifier | null;
  /** Where it comes from. */
  readonly source: RuleSource;
}

export interface ToolPattern {
  readonly kind: 'name' | 'prefix';
  readonly text: string;
  /** The built-in tools that a name of Claude Code's means: the tool itself, then those that are restrained with it. */
  readonly means: readonly string[];
}

/** What a rule's parentheses say. */
export type Specifier =
  /** The words of a command: its first ones, or all of them. The same text is a path where a tool touches paths. */
  | { readonly kind: 'words'; readonly words: readonly string[]; readonly prefix: true }
  | { readonly kind: 'text'; readonly text: string; readonly words: readonly string[] | null }
  | { readonly kind: 'domain'; readonly host: string };
