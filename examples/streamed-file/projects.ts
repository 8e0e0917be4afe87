import { sessionsOf, type JsonObject, type Model } from '@treadle/core';
import { variantCount, variantModels } from '@treadle/formats';
import type { Frame } from '@treadle/server';
import type { ChangeRequest, GenerateRequest } from './request.ts';
import { RequestProblem } from './request.ts';
import { frameOf, type Told } from './run-log.ts';
import { loadVariant, newVariant, WORKING, type Variant, type Workshop } from './variant.ts';

/** Takes what is told of a project. */
export type Reader = (frames: readonly Frame[]) => void;

/** The variants of one request, and who reads of them. */
export interface Project {
  readonly variants: readonly Variant[];
  /** False where the process ended before every variant was asked for its page. */
  readonly isBegun: boolean;
  /** Tells the reader all that was told so far, and what is told from here on. Returns a function that ends it. */
  join(reader: Reader): () => void;
  change(request: ChangeRequest, models: readonly Model[]): Promise<boolean>;
  show(variant: number, run: number): Promise<void>;
  abort(): void;
  /** Resolves when no variant is at work. */
  settled(): Promise<void>;
}

/** One line in the list of projects. */
export interface ProjectRow extends JsonObject {
  readonly id: string;
  readonly title: string;
  readonly updatedAt: number;
}

/** All projects of a journal. They are read from it when they are first asked for. */
export interface Projects {
  /**
   * Begins a project, or what is missing of one whose process ended before all was begun.
   *
   * @throws Error when there is no model, or when every variant failed.
   */
  create(request: GenerateRequest, models: readonly Model[], reader: Reader, signal: AbortSignal): Promise<void>;
  find(id: string): Promise<Project | null>;
  list(): Promise<readonly ProjectRow[]>;
  /** Goes on with what the end of the process before this one cut off. */
  recover(models: readonly Model[]): Promise<void>;
}

/** Four tries at a new page; two at an update, or at what is in a video. */
const variantsOf = ({ isUpdate, inputMode }: GenerateRequest): number => (isUpdate || inputMode === 'video' ? 2 : 4);

const TAG = 'page-';
const LISTED = 30;

/** The name of a title: what was asked for, in short. */
const titleOf = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 80) || 'From a screenshot';

export function createProjects(workshop: Workshop): Projects {
  const known = new Map<string, Promise<OwnProject | null>>();
  const sessions = sessionsOf(workshop.journal);

  async function load(id: string): Promise<OwnProject | null> {
    const { sessions: rows } = await sessions.list({ tag: `${TAG}${id}` });
    const project = createProject();
    for (const row of rows) {
      const variant = await loadVariant(row, workshop, project.tell);
      if (variant) project.variants.push(variant);
    }
    project.variants.sort((one, other) => one.index - other.index);
    return project.variants.length === 0 ? null : project;
  }

  async function find(id: string): Promise<OwnProject | null> {
    const found = known.get(id) ?? load(id);
    known.set(id, found);
    const project = await found;
    if (project === null) known.delete(id);
    return project;
  }

  return {
    find,
    async create(request, models, reader, signal) {
      const count = variantsOf(request);
      const chosen = Array.from({ length: count }, (_, index) => models[index % models.length]).filter(
        (model) => model !== undefined,
      );
      if (chosen.length === 0) throw new Error('There is no model to write with.');
      const begun = await find(request.project);
      const project = begun ?? createProject();
      known.set(request.project, Promise.resolve(project));
      reader([variantCount(count)]);
      const made: (readonly [Variant, Model])[] = [];
      for (const [index, model] of chosen.entries()) {
        const place = { index, project: `${TAG}${request.project}`, title: titleOf(request.text) };
        const variant =
          begun?.variants.find((each) => each.index === index) ??
          (await newVariant(place, model, request, workshop, project.tell));
        if (!variant.isBegun) made.push([variant, model]);
      }
      const added = made.map(([variant]) => variant).filter((variant) => !project.variants.includes(variant));
      project.variants.push(...added);
      if (begun) reader(begun.variants.flatMap((variant) => variant.recap()).map(frameOf));
      const leave = project.listen(reader);
      signal.addEventListener('abort', project.abort, { once: true });
      const order = { prompt: request.prompt, text: request.text, optionCodes: request.optionCodes };
      const runs = made.map(([variant, model]) => variant.run(order, model));
      reader([variantModels(project.variants.map(({ modelName }) => modelName))]);
      const succeeded = await Promise.all(runs);
      await project.settled();
      signal.removeEventListener('abort', project.abort);
      leave();
      if (!succeeded.includes(true)) throw new Error('All variants failed.');
    },
    async list() {
      const { sessions: rows } = await sessions.list({ tag: 'first', limit: LISTED });
      return rows.flatMap(({ tags = [], title = '', updatedAt }) => {
        const id = tags.find((tag) => tag.startsWith(TAG))?.slice(TAG.length);
        return id === undefined ? [] : [{ id, title, updatedAt }];
      });
    },
    async recover(models) {
      const { sessions: rows } = await sessions.list({ tag: WORKING, limit: 500 });
      const ids = new Set(rows.flatMap(({ tags = [] }) => tags.filter((tag) => tag.startsWith(TAG))));
      for (const tag of ids) {
        const project = await find(tag.slice(TAG.length));
        const codes = project?.variants.map(({ code }) => code ?? '') ?? [];
        const options = codes.every((code) => code === '') ? [] : codes;
        for (const variant of project?.variants ?? []) {
          if (variant.isWorking) void variant.resume(modelFor(variant, models), options);
        }
      }
    },
  };
}

type OwnProject = ReturnType<typeof createProject>;

const modelFor = ({ modelName }: Variant, models: readonly Model[]): Model | null =>
  models.find(({ provider, id }) => `${provider}/${id}` === modelName) ?? null;

function createProject() {
  const variants: Variant[] = [];
  const readers = new Set<Reader>();
  let idle: PromiseWithResolvers<void> | null = null;

  function tell(messages: readonly Told[]): void {
    if (messages.length > 0) {
      const frames = messages.map(frameOf);
      for (const reader of readers) reader(frames);
    }
    if (idle && variants.every(({ isWorking }) => !isWorking)) {
      idle.resolve();
      idle = null;
    }
  }

  function listen(reader: Reader): () => void {
    readers.add(reader);
    return () => void readers.delete(reader);
  }

  const variantAt = (index: number): Variant => {
    const variant = variants[index];
    if (!variant) throw new RequestProblem(`There is no variant ${index + 1}.`);
    return variant;
  };

  return {
    variants,
    get isBegun() {
      return variants.every(({ isBegun }) => isBegun);
    },
    tell,
    listen,
    join(reader: Reader) {
      reader([variantCount(variants.length), variantModels(variants.map(({ modelName }) => modelName))]);
      reader(variants.flatMap((variant) => variant.recap()).map(frameOf));
      return listen(reader);
    },
    change({ variant: index, prompt, text }: ChangeRequest, models: readonly Model[]) {
      const variant = variantAt(index);
      if (variant.isWorking) throw new RequestProblem(`Variant ${index + 1} is still being written. Wait, or stop it.`);
      const model = modelFor(variant, models) ?? models[0];
      if (!model) throw new RequestProblem('There is no model to write with.');
      const optionCodes = variants.map(({ code }) => code ?? '');
      return variant.run({ prompt, text, optionCodes }, model);
    },
    async show(index: number, run: number) {
      const variant = variantAt(index);
      if (variant.isWorking) throw new RequestProblem(`Variant ${index + 1} is still being written. Wait, or stop it.`);
      await variant.show(run);
    },
    abort(): void {
      for (const variant of variants) variant.abort();
    },
    async settled() {
      if (variants.every(({ isWorking }) => !isWorking)) return;
      idle ??= Promise.withResolvers();
      await idle.promise;
    },
  };
}
