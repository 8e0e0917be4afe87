// The floor: the least a loop on `fetch` can do, as somebody would write it in an afternoon. No errors are handled, nothing
// can be aborted, and nothing is kept but the wire's own messages.

import type { Contestant, WireName } from '../contestant.ts';

const WIRES: Readonly<Record<WireName, () => Promise<Contestant>>> = {
  'openai-chat': () => import('./openai-chat.ts'),
  anthropic: () => import('./anthropic.ts'),
  'openai-responses': () => import('./openai-responses.ts'),
  gemini: () => import('./gemini.ts'),
  bedrock: () => import('./bedrock.ts'),
  ollama: () => import('./ollama.ts'),
};

export const floorOn = (wire: WireName): Promise<Contestant> => WIRES[wire]();
