import type { AgentContext, ClientCapabilities } from '@agentclientprotocol/sdk';
import type { Agent, Blobs, Journal } from '@treadle/core';
import type { McpServerConfig } from '@treadle/mcp';

import type { SlashCommand } from './commands.ts';
import type { Choices, Chosen } from './settings.ts';

/** The client of a connection, as far as a session needs it. */
export interface ClientLink {
  readonly context: AgentContext;
  readonly capabilities: ClientCapabilities;
}

/** A session that is about to be opened. */
export interface OpenRequest {
  /** A real path. */
  readonly folder: string;
  readonly sessionId: string;
  /** More folders that the tools work in: real paths. */
  readonly directories: readonly string[];
  /** The client's own MCP servers, by name. */
  readonly servers: Readonly<Record<string, McpServerConfig>>;
  readonly client: ClientLink;
}

/** What the agents of one session have in common, whatever model they ask: a folder with its tools, servers and skills. */
export interface Place {
  readonly folder: string;
  readonly choices: Choices;
  /** Where nobody has chosen anything. */
  readonly defaults: Chosen;
  /** @throws TreadleError `invalid_definition` for a model that can't be used. */
  agent(chosen: Pick<Chosen, 'model' | 'thinking'>): Promise<Agent>;
  /** Besides those that every session has. */
  commands(): Promise<readonly SlashCommand[]>;
  /** What is to be said beside a question about a command; null for nothing. */
  aboutCommands(): Promise<string | null>;
  close(): Promise<void>;
}

/** What sessions are made of: the command line's part of the server. */
export interface AcpHost {
  readonly version: string;
  readonly journal: Journal;
  readonly blobs: Blobs;
  /** Who drives, shown to the next process that wants a session. */
  readonly owner: string;
  /** The agent of a folder's sessions. */
  agentIdOf(folder: string): string;
  /** The folder of an agent; undefined for an agent of none. */
  folderOf(agentId: string): string | undefined;
  /** The real path of a folder. @throws UsageError when it isn't one. */
  realFolder(path: string): Promise<string>;
  place(request: OpenRequest): Promise<Place>;
  /** Why no model can be asked with the keys that there are; null when one can. */
  loginProblem(): Promise<string | null>;
  /** For people, on standard error. */
  note(text: string): void;
}
