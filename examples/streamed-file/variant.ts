import {
  createSession,
  defineAgent,
  errorText,
  openSession,
  sessionsOf,
  type Agent,
  type Http,
  type Journal,
  type JsonObject,
  type Model,
  type Run,
  type Session,
  type UserContent,
} from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import type { SessionSummary } from '@treadle/core/journal';
import { extractHtml } from '@treadle/formats';
import { saveAssetsTool } from './assets.ts';
import { createFileTool, editFileTool, retrieveOptionTool, type FileState } from './file.ts';
import { imageTools, type ImageServices, type ImageStore } from './images.ts';
import type { GenerateRequest } from './request.ts';
import { askedOf, createRunLog, type RunLog, type Told } from './run-log.ts';
import { screenshotTool } from './screenshot.ts';

const INSTRUCTIONS =
  'You write one web page, in one self-contained HTML file. Write it with create_file, change it with edit_file, and then say in a ' +
  'sentence what you did. Write all of it: no placeholders for code, and no comments in place of parts.';

const MAX_TOOL_TURNS = 20;

/** Marks the sessions that have a run to go on with after a restart. */
export const WORKING = 'working';
const SHOWN = 'shown-';

/** What variants are made with. */
export interface Workshop {
  readonly journal: Journal;
  readonly http: Http;
  readonly services: ImageServices;
  readonly store: ImageStore;
  /** The path of a Chromium for `screenshot_preview`; null for none. */
  readonly chromium: string | null;
}

/** One run to start: what the user asked for, and what the model may use. */
export interface Order {
  readonly prompt: readonly UserContent[];
  readonly text: string;
  readonly optionCodes: readonly string[];
}

/** One try at the page: a session with a log of its own, one run for each thing that was asked of it. */
export interface Variant {
  readonly index: number;
  readonly modelName: string;
  readonly isWorking: boolean;
  /** Whether it was ever asked for its page. */
  readonly isBegun: boolean;
  /** The code that is shown: of the last run, or of the one that the user went back to. */
  readonly code: string | null;
  recap(): readonly Told[];
  /** Starts a run; resolves when it has ended, to whether there is a page. */
  run(order: Order, model: Model): Promise<boolean>;
  /** Goes on with a run that the end of the process cut off. */
  resume(model: Model | null, optionCodes: readonly string[]): Promise<boolean>;
  /** Goes back, or forward, to what run `number` left. Runs count from 1. @throws RangeError when it left no page */
  show(number: number): Promise<void>;
  abort(): void;
}

interface Kept {
  readonly sessionId: string;
  readonly index: number;
  readonly modelName: string;
  readonly file: FileState;
  readonly images: boolean;
  readonly assets: boolean;
}

type Tell = (messages: readonly Told[]) => void;

/** Makes the session of a new variant. */
export async function newVariant(
  { index, project, title }: { readonly index: number; readonly project: string; readonly title: string },
  model: Model,
  request: GenerateRequest,
  workshop: Workshop,
  tell: Tell,
): Promise<Variant> {
  const modelName = `${model.provider}/${model.id}`;
  const { path, content } = request.file;
  const known = { index, modelName, images: request.images, assets: request.assets };
  const session = await createSession(defineAgent({ id: 'page', model }), {
    journal: workshop.journal,
    title,
    tags: [project, ...(index === 0 ? ['first'] : [])],
    metadata: { ...known, path, content },
  });
  if (request.history.length > 0) await session.importMessages(request.history);
  await session.close();
  return makeVariant({ ...known, file: { path, content }, sessionId: session.id }, [], null, workshop, tell);
}

/** Reads a variant back from its log. Null for a session that is none. */
export async function loadVariant(
  { sessionId, tags = [] }: SessionSummary,
  workshop: Workshop,
  tell: Tell,
): Promise<Variant | null> {
  let kept: Kept | null = null;
  const runs: RunLog[] = [];
  for await (const event of workshop.journal.read(sessionId, 1)) {
    if (event.type === 'session_created') kept = keptOf(sessionId, event.metadata);
    if (!kept) return null;
    if (event.type === 'run_started') {
      const asked = askedOf(event);
      const base = typeof asked['base'] === 'number' ? runs[asked['base'] - 1]?.code : undefined;
      const log = createRunLog(kept.index, base ?? kept.file.content);
      runs.push(log);
      log.begin(asked);
    }
    runs.at(-1)?.event(event);
  }
  const shown = tags.find((tag) => tag.startsWith(SHOWN));
  return kept && makeVariant(kept, runs, shown ? Number(shown.slice(SHOWN.length)) : null, workshop, tell);
}

function keptOf(sessionId: string, metadata: JsonObject | undefined): Kept | null {
  if (!isJsonObject(metadata)) return null;
  const { index, modelName, images, assets, path, content } = metadata;
  if (typeof index !== 'number' || typeof modelName !== 'string' || typeof path !== 'string') return null;
  const file = { path, content: typeof content === 'string' ? content : null };
  return { sessionId, index, modelName, file, images: images === true, assets: assets === true };
}

function makeVariant(kept: Kept, runs: RunLog[], back: number | null, workshop: Workshop, tell: Tell): Variant {
  const { journal } = workshop;
  const { sessionId, index, modelName } = kept;
  const sessions = sessionsOf(journal);
  let shown = back;
  let session: Session | null = null;

  /** The number of the last run that left a page; 0 for none. */
  const newest = (): number => runs.findLastIndex(({ code, startCode }) => code !== null && code !== startCode) + 1;
  const codeOf = (number: number): string | null => runs[number - 1]?.code ?? kept.file.content;
  const shownMessage = (): Told => ({ type: 'shown', variantIndex: index, data: { run: shown ?? newest() } });

  function agentOf(model: Model, file: FileState, optionCodes: readonly string[]): Agent {
    const attached = (): UserContent[] =>
      session?.messages.flatMap((message) => (message.role === 'user' ? message.content : [])) ?? [];
    return defineAgent({
      id: 'page',
      model,
      instructions: INSTRUCTIONS,
      tools: [
        createFileTool(file),
        editFileTool(file),
        ...(kept.images ? imageTools(workshop) : []),
        ...(kept.assets ? [saveAssetsTool(attached, workshop.store)] : []),
        ...(workshop.chromium === null ? [] : [screenshotTool(file, workshop.chromium, workshop.store)]),
        ...(optionCodes.length > 0 ? [retrieveOptionTool(optionCodes)] : []),
      ],
      limits: { maxToolTurns: MAX_TOOL_TURNS },
    });
  }

  /** Tells what the session does until `work` is done. Never rejects: a failure is told as the run's end. */
  async function drive(log: RunLog, agent: Agent, start: (session: Session) => Run, file: FileState): Promise<boolean> {
    try {
      await sessions.tag(sessionId, [WORKING], shown === null ? [] : [`${SHOWN}${shown}`]);
      shown = null;
      session = await openSession(agent, sessionId, { journal });
      const run = start(session);
      const stop = session.subscribe((event) => tell(log.event(event)));
      try {
        const { status, text } = await run.result;
        tell(log.fail('The stream ended before the run did.'));
        return status === 'completed' && (file.content !== null || extractHtml(text) !== null);
      } finally {
        stop();
        await session.close();
      }
    } catch (error) {
      tell(log.fail(errorText(error)));
      return false;
    } finally {
      session = null;
      await sessions.tag(sessionId, [], [WORKING]).catch(() => {});
    }
  }

  return {
    index,
    modelName,
    get isWorking() {
      return runs.some(({ isOver }) => !isOver);
    },
    get isBegun() {
      return runs.length > 0;
    },
    get code() {
      return codeOf(shown ?? newest());
    },
    recap: () => [...runs.flatMap((log) => log.recap()), shownMessage()],
    run({ prompt, text, optionCodes }, model) {
      const base = shown ?? newest();
      const file = { ...kept.file, content: codeOf(base) };
      const isBack = base !== newest() && file.content !== null;
      const now: UserContent = { type: 'text', text: `This is the file as it is now:\n\n${file.content}` };
      const log = createRunLog(index, file.content);
      runs.push(log);
      const asked = { text, base };
      tell(log.begin(asked));
      return drive(
        log,
        agentOf(model, file, optionCodes),
        (opened) => opened.prompt(isBack ? [now, ...prompt] : prompt, { metadata: asked }),
        file,
      );
    },
    async resume(model, optionCodes) {
      const log = runs.at(-1);
      if (!log || log.isOver) return false;
      if (!model) {
        tell(log.fail(`The server was restarted, and has no key for ${modelName}. Ask again.`));
        return false;
      }
      const file = { ...kept.file, content: log.fileSoFar };
      return drive(log, agentOf(model, file, optionCodes), (opened) => opened.resume(), file);
    },
    async show(number) {
      const { code } = runs[number - 1] ?? { code: null };
      if (code === null) throw new RangeError(`There is no version ${number} of variant ${index + 1}.`);
      await sessions.tag(sessionId, [`${SHOWN}${number}`], shown === null ? [] : [`${SHOWN}${shown}`]);
      shown = number;
      tell([shownMessage()]);
    },
    abort() {
      void session?.abort('You stopped it.').catch(() => {});
    },
  };
}
