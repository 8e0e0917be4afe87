import { errorText } from '../../errors.ts';
import type { DurableEventBody } from '../../events/events.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Journal } from '../../journal/journal.ts';
import { plainData } from '../../tools/plain-data.ts';
import { isToolStream } from '../../tools/tool-stream.ts';
import type { Tool, ToolOutput, ToolStream } from '../../tools/tool.ts';
import { guardModel } from './guard-model.ts';
import { createRedactor, placeholder, type Redactor } from './redactor.ts';
import type { Model } from '../../model/model.ts';

/** Options of {@link secretGuard}. */
export interface SecretGuardOptions {
  /** Secrets by name. Those of fewer than eight characters are refused. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** Keeps secrets out of what is kept and shown. */
export interface SecretGuard {
  readonly redactor: Redactor;
  /** Everything that is written is redacted first, so the log, the view made of it and all who watch see placeholders. */
  journal(journal: Journal): Journal;
  /** What the model streams is redacted, also a secret that is cut in two by its deltas, and so are its errors. */
  model(model: Model): Model;
  /**
   * What the tool says is redacted: its result, its partial results, its progress, and what it throws. Its arguments get the
   * values of these secrets in the place of their placeholders, and only while it runs. What becomes of the placeholders of
   * other secrets, `options` says.
   */
  tool(tool: Tool, reveal?: readonly string[], options?: GuardToolOptions): Tool;
}

/** Options of the guard of one tool. */
export interface GuardToolOptions {
  /**
   * `keep` (the default): the tool gets the placeholder itself. `refuse`: such a call isn't run, and the model is told why. For
   * tools that write: a file with a secret in it, which a model has read and writes anew, would lose the secret.
   */
  readonly unrevealed?: 'keep' | 'refuse';
}

/**
 * Wraps what an agent is made of, so that secrets stay out of its log, its events and its errors. Nothing in the loop knows of
 * it, and without it nothing costs anything.
 *
 * @throws TreadleError `invalid_definition` for secrets that can't be kept.
 * @example
 * ```ts
 * import { createSession, defineAgent, defineTool, memoryJournal, secretGuard } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const guard = secretGuard({ secrets: { DEPLOY_KEY: 'k3y.with.dots' } });
 * const show = defineTool({ name: 'show', description: 'Shows.', execute: () => 'The key is k3y.with.dots.' });
 * const model = guard.model(scriptedModel([{ toolCalls: [{ name: 'show' }] }, 'I see.']));
 * const agent = defineAgent({ model, tools: [guard.tool(show)] });
 * const session = await createSession(agent, { journal: guard.journal(memoryJournal()) });
 * const { messages } = await session.prompt('Show it: k3y.with.dots').result;
 * console.log(JSON.stringify(messages).includes('k3y')); // false
 * ```
 */
export function secretGuard({ secrets }: SecretGuardOptions): SecretGuard {
  const redactor = createRedactor(secrets);
  return {
    redactor,
    journal: (journal) => guardJournal(journal, redactor),
    model: (model) => guardModel(model, redactor),
    tool: (tool, reveal = [], { unrevealed = 'keep' } = {}) => {
      const kept = unrevealed === 'refuse' ? Object.keys(secrets).filter((name) => !reveal.includes(name)) : [];
      return guardTool(tool, redactor, reveal, kept);
    },
  };
}

function guardJournal(journal: Journal, redactor: Redactor): Journal {
  // Events are JSON by contract.
  const clean = <Value>(value: Value): Value => redactor.redactJson(value as JsonValue) as Value;
  return {
    ...journal,
    create: (sessionId, first, fork) => journal.create(sessionId, clean<DurableEventBody>(first), fork),
    append: (sessionId, epoch, expectedSeq, events) =>
      journal.append(sessionId, epoch, expectedSeq, clean<readonly DurableEventBody[]>(events)),
    post: (sessionId, input, key, at) => journal.post(sessionId, clean(input), key, at),
  };
}

function guardTool(tool: Tool, redactor: Redactor, reveal: readonly string[], refused: readonly string[]): Tool {
  const { execute } = tool;
  if (!execute) return tool;
  const clean = (output: unknown): JsonValue => redactor.redactJson(plainData(output).value ?? null);
  return Object.freeze({
    ...tool,
    // Checked with the secrets in it, as it will run.
    check(args, validator) {
      const text = JSON.stringify(args);
      const found = refused.filter((name) => text.includes(placeholder(name)));
      if (found.length === 0) return tool.check(revealed(args, redactor, reveal), validator);
      const message = `they have ${found.map(placeholder).join(', ')}, which stands for a value that this tool is not given`;
      return { ok: false, issues: [{ path: '', message: `${message}. Leave it out, or ask the user to do it.` }] };
    },
    async execute(args, context) {
      try {
        const told = {
          ...context,
          update: (partial: ToolOutput) => context.update(clean(partial) as ToolOutput),
          progress: (text: string) => context.progress(redactor.redact(text)),
        };
        const output = await execute(args, told);
        return isToolStream(output) ? cleanStream(output, redactor) : clean(output);
      } catch (thrown) {
        // oxlint-disable-next-line eslint/preserve-caught-error -- the cause says what must not be said
        throw new Error(redactor.redact(errorText(thrown)));
      }
    },
  } satisfies Tool);
}

/** What may be the beginning of a secret comes with a later piece. */
async function* cleanStream(stream: ToolStream, redactor: Redactor): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const cleaner = redactor.stream();
  for await (const piece of stream) {
    yield cleaner.push(typeof piece === 'string' ? decoder.decode() + piece : decoder.decode(piece, { stream: true }));
  }
  yield cleaner.push(decoder.decode());
  yield cleaner.end();
}

function revealed(args: JsonObject, redactor: Redactor, names: readonly string[]): JsonObject {
  if (names.length === 0) return args;
  const text = JSON.stringify(args, (_, item: unknown) =>
    typeof item === 'string' ? redactor.reveal(item, names) : item,
  );
  return JSON.parse(text) as JsonObject;
}
