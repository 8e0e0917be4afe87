import { closestName } from '@treadle/core/names';

import { changeLogin, type KeptKey } from '../../settings/login-file.ts';
import { exactLine } from '../asking/plain-text.ts';
import type { Terminal } from '../asking/terminal.ts';
import type { CliIo } from '../io.ts';
import { DEFAULTS } from '../run/choose-model.ts';
import { UsageError } from '../usage-error.ts';

/** Who is asked, and where what they say is kept. */
export interface LoginAsking {
  readonly io: Pick<CliIo, 'env' | 'cwd'>;
  readonly terminal: Terminal;
  readonly stopped: Promise<unknown>;
  readonly note: (text: string) => void;
}

/** A provider that takes a key. */
export interface KeyedProvider {
  readonly name: string;
  /** The variable that its key is kept for. */
  readonly variable: string;
  /** True where its server may want none: one on this machine. */
  readonly isLocal: boolean;
  /** The model that its key selects; null when one has to be named. */
  readonly model: string | null;
}

/** The providers whose key can be kept. */
async function keyedProviders(env: CliIo['env']): Promise<readonly KeyedProvider[]> {
  const { deploymentBaseUrl, DEPLOYMENTS } = await import('@treadle/models');
  const isLocal = (row: (typeof DEPLOYMENTS)[number]): boolean => {
    try {
      return /^(?:localhost|127\.|\[::1\])/.test(deploymentBaseUrl(row, { env }).host);
    } catch {
      return false;
    }
  };
  return DEPLOYMENTS.flatMap((row) => {
    const [variable] = row.keyVariables;
    const model = DEFAULTS.find(({ model }) => model.startsWith(`${row.name}/`))?.model ?? null;
    return variable === undefined ? [] : [{ name: row.name, variable, isLocal: isLocal(row), model }];
  });
}

/** The provider of a name. @throws UsageError for a name that none has. */
export async function providerOf(name: string, env: CliIo['env']): Promise<KeyedProvider> {
  const all = await keyedProviders(env);
  const found = all.find((provider) => provider.name === name);
  if (found) return found;
  const names = all.map((provider) => provider.name);
  const meant = closestName(name, names);
  throw new UsageError(
    `No provider is called '${name}'.${meant === undefined ? '' : ` Did you mean '${meant}'?`} There are: ${names.join(', ')}.`,
  );
}

/**
 * Asks who should answer prompts, and keeps what is said: the key of a provider, or that it is the demo model. False when
 * nobody answered.
 */
export async function askForLogin(asking: LoginAsking): Promise<boolean> {
  const { io } = asking;
  const offered = DEFAULTS.map(({ title, model }) => `${title} (${model})`);
  const choices = [...offered, 'another provider', 'the demo model: scripted replies to a few prompts, without a key'];
  let wrong = '';
  // Before the choice: a key may be pasted right after it, and its question must be there by then.
  await keyedProviders(io.env);
  for (;;) {
    const answer = await choose(asking, 'Which model should answer?', choices, wrong);
    if (answer === null) return false;
    const number = /^\d+$/.test(answer) ? Number(answer) : 0;
    if (number === choices.length || answer === 'demo') {
      await changeLogin(io, (login) => ({ ...login, model: 'demo' }));
      return true;
    }
    const named =
      number === choices.length - 1 ? await askProvider(asking) : (DEFAULTS[number - 1]?.provider ?? answer);
    if (named === null) return false;
    try {
      return await askForKey(await providerOf(named, io.env), asking);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      wrong = `${exactLine(error.message)}\nType a number of the list. `;
    }
  }
}

/** The number of a choice, or the words that were typed instead. Null when nobody answered. */
async function choose(
  { terminal, stopped }: LoginAsking,
  question: string,
  choices: readonly string[],
  wrong: string,
): Promise<string | null> {
  if (terminal.pick) {
    const items = choices.map((text) => ({ text }));
    const at = await terminal.pick(question, items, stopped);
    return typeof at === 'number' ? String(at + 1) : at;
  }
  const lines = choices.map((choice, index) => `  ${index + 1}  ${choice}\n`).join('');
  return (await terminal.ask(wrong === '' ? `${question}\n${lines}> ` : `${wrong}> `, stopped))?.trim() ?? null;
}

async function askProvider({ terminal, stopped, io }: LoginAsking): Promise<string | null> {
  const names = (await keyedProviders(io.env)).map(({ name }) => name);
  if (terminal.pick) {
    const items = names.map((text) => ({ text }));
    return names[Number((await terminal.pick('Which provider?', items, stopped)) ?? -1)] ?? null;
  }
  return (await terminal.ask(`${names.join(', ')}\nWhich one? > `, stopped))?.trim() ?? null;
}

/** Asks for the key of a provider, and for its model where none is known, and keeps them. False when nobody answered. */
export async function askForKey(provider: KeyedProvider, asking: LoginAsking): Promise<boolean> {
  const { terminal, stopped, io, note } = asking;
  const optional = provider.isLocal ? ' Its server here may need none: then press Enter.' : '';
  let question = `The key of ${provider.name}, which is not shown; or $NAME, an environment variable that has it.${optional}\n> `;
  let key: KeptKey | null = null;
  for (;;) {
    const typed = await terminal.askSecret(question, stopped);
    if (typed === null) return false;
    if (typed.trim() === '' && provider.isLocal) break;
    const read = readKey(typed);
    if (typeof read !== 'string') {
      key = read;
      break;
    }
    question = `${read}\n> `;
  }
  const model = provider.model ?? (await askModel(provider, asking));
  if (model === null) return false;
  await keepKey(provider, key, provider.model === null ? model : null, io);
  if (key !== null && 'env' in key && !io.env[key.env]) note(`${key.env} is not set here.`);
  return true;
}

async function askModel({ name }: KeyedProvider, { terminal, stopped }: LoginAsking): Promise<string | null> {
  for (;;) {
    const typed = (
      await terminal.ask(`Which of its models? (treadle models ${name} lists them.)\n${name}/`, stopped)
    )?.trim();
    if (typed === undefined) return null;
    if (typed !== '') return typed.startsWith(`${name}/`) ? typed : `${name}/${typed}`;
  }
}

/** What was typed for a key; a text says what is wrong with it, without a part of it. */
export function readKey(typed: string): KeptKey | string {
  const text = typed.trim();
  const env = /^\$\{?([A-Za-z_]\w*)\}?$/.exec(text)?.[1];
  if (env !== undefined) return { env };
  if (text.length < 8) return 'That is too short for a key.';
  if (!/^[\x21-\x7e]+$/.test(text)) return 'A key has no spaces and only ASCII characters. Was it copied whole?';
  return { value: text };
}

/** @param model the model to use from now on; null leaves that to the key */
export async function keepKey(
  { variable }: KeyedProvider,
  key: KeptKey | null,
  model: string | null,
  io: Pick<CliIo, 'env' | 'cwd'>,
): Promise<void> {
  await changeLogin(io, (login) => ({ keys: { ...login.keys, ...(key && { [variable]: key }) }, model }));
}
