import {
  createSession,
  defineAgent,
  errorText,
  type Agent,
  type Http,
  type Journal,
  type Model,
  type Session,
} from '@treadle/core';
import { extractHtml, generateCodeFormat, variantCount, variantModels } from '@treadle/formats';
import type { Encoder, Frame } from '@treadle/server';
import { createFileTool, editFileTool, retrieveOptionTool, type FileState } from './file.ts';
import { imageTools, type ImageServices, type ImageStore } from './images.ts';
import type { GenerateRequest } from './request.ts';

const INSTRUCTIONS =
  'You write one web page, in one self-contained HTML file. Write it with create_file, change it with edit_file, and then say in a ' +
  'sentence what you did. Write all of it: no placeholders for code, and no comments in place of parts.';

const MAX_TOOL_TURNS = 20;

/** What variants are made with. */
export interface Workshop {
  readonly journal: Journal;
  readonly http: Http;
  readonly services: ImageServices;
  readonly store: ImageStore;
}

/** One try at the page: a session, an agent and a file of its own. */
interface Variant {
  readonly session: Session;
  readonly encoder: Encoder;
  readonly file: FileState;
}

/** Four tries at a new page; two at an update, or at what is in a video. */
const variantsOf = ({ isUpdate, inputMode }: GenerateRequest): number => (isUpdate || inputMode === 'video' ? 2 : 4);

function agentOf(model: Model, request: GenerateRequest, file: FileState, workshop: Workshop): Agent {
  return defineAgent({
    id: 'page',
    model,
    instructions: INSTRUCTIONS,
    tools: [
      createFileTool(file),
      editFileTool(file),
      ...(request.images ? imageTools(workshop) : []),
      ...(request.optionCodes.length > 0 ? [retrieveOptionTool(request.optionCodes)] : []),
    ],
    limits: { maxToolTurns: MAX_TOOL_TURNS },
  });
}

async function openVariant(
  model: Model,
  index: number,
  request: GenerateRequest,
  workshop: Workshop,
): Promise<Variant> {
  const file = { ...request.file };
  const session = await createSession(agentOf(model, request, file, workshop), {
    journal: workshop.journal,
    title: `Page, variant ${index + 1}`,
  });
  if (request.history.length > 0) await session.importMessages(request.history);
  return { session, file, encoder: generateCodeFormat({ variantIndex: index, startCode: file.content }).encoder() };
}

/**
 * Makes all variants side by side. Each is isolated: one that fails doesn't disturb the others. `send` is given frames in the
 * order of the protocol; the signal cancels what is still at work.
 *
 * @throws Error when all of them failed; each has told why.
 */
export async function makeVariants(
  request: GenerateRequest,
  models: readonly Model[],
  workshop: Workshop,
  send: (frames: readonly Frame[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const count = variantsOf(request);
  const chosen = Array.from({ length: count }, (_, index) => models[index % models.length]).filter(
    (model) => model !== undefined,
  );
  if (chosen.length === 0) throw new Error('There is no model to write with.');
  send([variantCount(count)]);
  const variants = await Promise.all(chosen.map((model, index) => openVariant(model, index, request, workshop)));
  for (const { session, encoder } of variants) send(encoder.begin({ sessionId: session.id, resumed: false }));
  send([variantModels(chosen.map(({ provider, id }) => `${provider}/${id}`))]);
  const succeeded = await Promise.all(variants.map((variant) => makeVariant(variant, request, send, signal)));
  if (!succeeded.includes(true)) throw new Error('All variants failed.');
}

async function makeVariant(
  { session, encoder, file }: Variant,
  { prompt }: GenerateRequest,
  send: (frames: readonly Frame[]) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const stop = session.subscribe((event) => send(encoder.event(event)));
  const abort = (): void => void session.abort('The user cancelled it.').catch(() => {});
  signal.addEventListener('abort', abort, { once: true });
  try {
    const { status, text } = await session.prompt(prompt).result;
    send(encoder.end({ reason: 'finished' }));
    return status === 'completed' && (file.content !== null || extractHtml(text) !== null);
  } catch (error) {
    send(encoder.end({ reason: 'failed', code: 'internal', message: errorText(error) }));
    return false;
  } finally {
    signal.removeEventListener('abort', abort);
    stop();
    await session.close();
  }
}
