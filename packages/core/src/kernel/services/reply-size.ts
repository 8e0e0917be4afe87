import { charactersIn } from '../../json.ts';
import type { Model, ModelBlock, ModelEvent, ModelRequest } from '../../model/model.ts';
import { checkUsage } from '../../model/check-usage.ts';
import { DEFAULT_LIMITS, sizeHit, type ReplyLimits } from './limits.ts';
import type { SizeLimit } from '../../events/limits.ts';

/** What one block counts besides its characters: a reply of empty blocks must end too. */
const PER_BLOCK = 512;

/** Characters of base64 of the files in one reply. They are beside its text, and each is as long as its frame may be. */
const MOST_FILES = 256_000_000;

/** A limit that an event exceeds, and how many characters of its text are within it. */
export interface SizeExcess {
  readonly limit: SizeLimit;
  readonly keep: number;
}

/** Measures a reply while it is streamed. Work per delta is constant. */
export class ReplySize {
  readonly #limits: ReplyLimits;
  /** Of the whole reply. */
  #total = 0;
  #files = 0;
  /** Of each block. Most deltas are of the same block as the one before. */
  readonly #blocks = new Map<number, number>();
  #index = -1;
  #block = 0;

  constructor(limits: ReplyLimits) {
    this.#limits = limits;
  }

  /** Counts an event; null while the reply is within its limits. After an excess the reply is to be stopped. */
  take(event: ModelEvent): SizeExcess | null {
    switch (event.type) {
      case 'start':
        this.#restart();
        return null;
      case 'text_delta':
        return this.#add(event.index, event.text.length, 'reply', Infinity);
      case 'thinking_delta':
        return this.#add(event.index, event.text.length, 'thinking', this.#limits.maxThinkingLength);
      case 'tool_arguments_delta':
        return this.#add(event.index, event.text.length, 'arguments', this.#limits.maxArgumentsLength);
      case 'tool_call_start':
        return this.#add(event.index, event.name.length + event.providerCallId.length, 'reply', Infinity);
      case 'block_end':
        return this.#end(event.index, event.block);
      default:
        return null;
    }
  }

  #restart(): void {
    this.#total = 0;
    this.#files = 0;
    this.#blocks.clear();
    this.#index = -1;
    this.#block = 0;
  }

  /** What a finished block has beyond its deltas: all of it, where it came without any. */
  #end(index: number, block: ModelBlock): SizeExcess | null {
    this.#open(index);
    if (block.type === 'file' || block.type === 'image') {
      this.#files += block.data?.length ?? 0;
      return this.#files > MOST_FILES ? { limit: 'reply', keep: 0 } : null;
    }
    const rest = Math.max(0, charactersOf(block) - this.#block);
    if (block.type === 'thinking') return this.#add(index, rest, 'thinking', this.#limits.maxThinkingLength);
    if (block.type === 'tool_call') return this.#add(index, rest, 'arguments', this.#limits.maxArgumentsLength);
    return this.#add(index, rest, 'reply', Infinity);
  }

  #open(index: number): void {
    if (index === this.#index) return;
    if (this.#index >= 0) this.#blocks.set(this.#index, this.#block);
    const known = this.#blocks.get(index);
    if (known === undefined) this.#total += PER_BLOCK;
    this.#index = index;
    this.#block = known ?? 0;
  }

  #add(index: number, characters: number, limit: SizeLimit, most: number): SizeExcess | null {
    this.#open(index);
    const inBlock = most - this.#block;
    const inReply = this.#limits.maxReplyLength - this.#total;
    this.#block += characters;
    this.#total += characters;
    if (characters > inBlock) return { limit, keep: Math.max(0, Math.min(inBlock, inReply)) };
    return characters > inReply ? { limit: 'reply', keep: Math.max(0, inReply) } : null;
  }
}

function charactersOf(block: Exclude<ModelBlock, { readonly type: 'file' | 'image' }>): number {
  switch (block.type) {
    case 'text':
      return block.text.length;
    case 'thinking':
      return block.text.length + (block.signature?.length ?? 0);
    case 'redacted_thinking':
      return block.data.length;
    case 'tool_call':
      return block.argumentsText.length;
    default:
      return charactersIn(block.raw);
  }
}

/** A stream that is checked as a run's own is: it fails once its reply is too long, and its usage may be relied on. */
export async function* sizedStream(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  limits: ReplyLimits = DEFAULT_LIMITS,
): AsyncGenerator<ModelEvent> {
  const size = new ReplySize(limits);
  for await (const event of model.stream(request, signal)) {
    const excess = size.take(event);
    if (excess) {
      const { status: end, message } = sizeHit(excess.limit, limits);
      yield { type: 'error', error: { kind: 'other', code: end, message, retryable: false } };
      return;
    }
    yield event.type === 'finish' ? { ...event, usage: checkUsage(event.usage).usage } : event;
  }
}
