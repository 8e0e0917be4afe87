export type WireName = 'openai-chat' | 'anthropic' | 'openai-responses' | 'gemini' | 'bedrock' | 'ollama';

/** A tool before it is anybody's. */
export interface BenchTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema. */
  readonly parameters: {
    readonly type: 'object';
    readonly properties: Readonly<
      Record<string, { readonly type: 'string' | 'number'; readonly description?: string }>
    >;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
  execute(args: unknown): string | Promise<string>;
}

/** The wire isn't in it: a contestant is loaded for one. */
export interface Setup {
  readonly baseUrl: string;
  /** The model's name. */
  readonly scenario: string;
  readonly tools: readonly BenchTool[];
  /** Told of every text delta, as an application would be that shows them. */
  readonly onText: (text: string) => void;
  /** Told of every delta of a call's arguments, with the value parsed so far where there is one. */
  readonly onArguments: (text: string, partial: unknown) => void;
}

/** One conversation, kept in memory until it is dropped. */
export interface Conversation {
  /** Says the prompt and resolves with the final answer. */
  run(): Promise<string>;
}

/** A defined agent: made once, for any number of conversations. */
export interface Contender {
  open(): Promise<Conversation>;
}

/** A contestant on one wire. */
export interface Contestant {
  define(setup: Setup): Contender;
}
