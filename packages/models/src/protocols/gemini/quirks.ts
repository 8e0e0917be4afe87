import { GOOGLE_FAMILIES } from '../../rules/google.ts';
import { familyOf, type FamilyQuirk, type ModelFamily } from '../../rules/rules.ts';

/** What may differ between deployments of the Gemini wire, and between its models. */
export interface GeminiQuirks {
  /** Path of the models below the base URL. */
  readonly modelsPath?: string;
  /** Begins the ids of calls that came without one: `google` makes `google-fc-0`. */
  readonly callIdPrefix?: string;
  /** The form of tool and reply schemas: the wire's own subset of OpenAPI, or JSON Schema as it is. */
  readonly schemas?: 'openapi' | 'json-schema';
  /**
   * The generation of the model, where its name doesn't say it. From 3 on, reasoning is set by level and not in tokens,
   * a tool's result may have images in it, and calls of the current turn must be signed.
   */
  readonly generation?: number | 'auto';
  /** What the model takes, where its name doesn't say it: the name of a model that takes the same, or rules of your own. */
  readonly family?: FamilyQuirk;
}

/** The Gemini API itself. */
export const GEMINI_DEFAULTS: Required<GeminiQuirks> = {
  modelsPath: '/models',
  callIdPrefix: 'google',
  schemas: 'openapi',
  generation: 'auto',
  family: {},
};

const NEWEST = 4;

/** The generation of a model by its name, such as 3 for `gemini-3.1-pro`; the newest when the name says nothing. */
export function geminiGeneration(modelId: string, quirk: number | 'auto'): number {
  if (quirk !== 'auto') return quirk;
  const found = /gemini-(\d+)/i.exec(modelId);
  return found === null ? NEWEST : Number(found[1]);
}

/** What a model takes. A generation that somebody named says it where the model's name doesn't. */
export const geminiFamily = (modelId: string, { generation, family }: Required<GeminiQuirks>): ModelFamily =>
  familyOf(GOOGLE_FAMILIES, generation === 'auto' ? modelId : `gemini-${generation} ${modelId}`, family);
