/** What may differ between servers that speak Ollama's chat API. */
export interface OllamaQuirks {
  /** Path below the base URL. */
  readonly path?: string;
  /**
   * How thinking is switched on: by `true`, or by a level, which only some models take. `auto` gives a level to models
   * whose name has `gpt-oss` in it.
   */
  readonly think?: 'auto' | 'boolean' | 'level';
}

export const OLLAMA_DEFAULTS: Required<OllamaQuirks> = { path: '/api/chat', think: 'auto' };
