import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk';
import type { PermissionMode, ThinkingLevel } from '@treadle/core';

/** What a session may be set to. */
export interface Choices {
  /** `provider/model`, those that can be asked here. */
  readonly models: readonly string[];
  /** Whether everything may be allowed. */
  readonly bypass: boolean;
}

/** What a session is set to. */
export interface Chosen {
  readonly mode: PermissionMode;
  readonly model: string;
  /** Null: as the model does by itself. */
  readonly thinking: ThinkingLevel | null;
}

const MODES: Readonly<Record<PermissionMode, readonly [name: string, about: string]>> = {
  default: ['Ask', 'Reads by itself, asks before it changes or runs anything.'],
  acceptEdits: ['Accept edits', 'Changes files of the folder by itself, asks before it runs anything.'],
  plan: ['Plan', 'Only reads.'],
  dontAsk: ['Don’t ask', 'Does what is allowed, and leaves the rest.'],
  bypass: ['Bypass', 'Asks for nothing.'],
};

const THINKING: readonly ThinkingLevel[] = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const BY_MODEL = 'default';

const modesOf = ({ bypass }: Choices): PermissionMode[] =>
  (['default', 'acceptEdits', 'plan', 'dontAsk', 'bypass'] as const).filter((mode) => mode !== 'bypass' || bypass);

/** The modes, as clients know them that know no configuration options. */
export const modeState = (choices: Choices, { mode }: Chosen): SessionModeState => ({
  currentModeId: mode,
  availableModes: modesOf(choices).map((id) => ({ id, name: MODES[id][0], description: MODES[id][1] })),
});

/** The options of a session: the permission mode, the model, and how much it thinks. */
export function configOptions(choices: Choices, { mode, model, thinking }: Chosen): SessionConfigOption[] {
  const models = choices.models.includes(model) ? choices.models : [model, ...choices.models];
  const option = (id: string, name: string, category: string, currentValue: string, options: Option[]) =>
    ({ type: 'select', id, name, category, currentValue, options }) as const;
  return [
    option(
      'mode',
      'Permission mode',
      'mode',
      mode,
      modesOf(choices).map((value) => ({ value, name: MODES[value][0], description: MODES[value][1] })),
    ),
    option(
      'model',
      'Model',
      'model',
      model,
      models.map((value) => ({ value, name: value })),
    ),
    option('thinking', 'Thinking', 'thought_level', thinking ?? BY_MODEL, [
      { value: BY_MODEL, name: 'As the model has it' },
      ...THINKING.map((value) => ({ value, name: value })),
    ]),
  ];
}

interface Option {
  readonly value: string;
  readonly name: string;
  readonly description?: string;
}

/** What a session is set to after one change; null for what there isn't. A model is checked by whoever loads it. */
export function withOption(choices: Choices, chosen: Chosen, id: string, value: unknown): Chosen | null {
  if (typeof value !== 'string') return null;
  if (id === 'model') return { ...chosen, model: value };
  if (id === 'thinking') {
    const thinking = thinkingLevel(value);
    return thinking === null && value !== BY_MODEL ? null : { ...chosen, thinking };
  }
  const mode = id === 'mode' ? modesOf(choices).find((known) => known === value) : undefined;
  return mode === undefined ? null : { ...chosen, mode };
}

/** The level of this name; null for another word. */
export const thinkingLevel = (word: string | undefined): ThinkingLevel | null =>
  THINKING.find((level) => level === word) ?? null;
