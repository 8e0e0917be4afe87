import { withUserVariables } from '../../settings/combine.ts';
import { loginFile, readLogin } from '../../settings/login-file.ts';
import type { Terminal } from '../asking/terminal.ts';
import type { CommandContext } from '../context.ts';
import type { CliIo } from '../io.ts';
import { chooseModel, type ModelChoice } from '../run/choose-model.ts';
import { askForLogin } from './choose.ts';

/** A model by its name, and the environment with the keys that are kept for it. */
export interface ChosenModel {
  readonly choice: ModelChoice;
  readonly env: CliIo['env'];
}

/** What the arguments, the environment and the login say. Nothing is asked. */
export async function knownModel(io: CliIo, flag: string | undefined): Promise<ChosenModel> {
  const env = await withUserVariables(io);
  return { env, choice: chooseModel(flag, env, (await readLogin(io)).model) };
}

/**
 * The model of a command. Where nothing names one and there is no key, whoever is at the terminal is asked once; elsewhere
 * it is the demo model.
 *
 * @param flag `--model`
 * @param terminal absent where nobody is asked
 */
export async function chosenModel(
  { io, interruptions, note }: Pick<CommandContext, 'io' | 'interruptions' | 'note'>,
  flag: string | undefined,
  terminal?: Terminal,
): Promise<ChosenModel> {
  const read = (): Promise<ChosenModel> => knownModel(io, flag);
  const found = await read();
  if (found.choice.isUnset !== true || terminal?.isThere !== true || loginFile(io) === null) return found;
  const asking = { io, terminal, stopped: interruptions.first, note };
  return (await interruptions.unless(askForLogin(asking))) ? read() : found;
}
