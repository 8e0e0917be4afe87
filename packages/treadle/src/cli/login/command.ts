import { changeLogin, loginFile, readLogin } from '../../settings/login-file.ts';
import { openTerminal, readLines } from '../asking/terminal.ts';
import { LOGIN_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { infoText } from '../help.ts';
import { printed } from '../io.ts';
import { parseOptions } from '../options.ts';
import { readStandardInput } from '../standard-input.ts';
import { UsageError } from '../usage-error.ts';
import { askForKey, askForLogin, keepKey, providerOf, readKey, type KeyedProvider } from './choose.ts';

/** `treadle login [PROVIDER]`: keeps the key of a provider, typed at the terminal or piped in. Returns the exit code. */
export async function loginCommand(context: CommandContext, args: readonly string[]): Promise<number> {
  const { io, err, note, out, interruptions } = context;
  const options = parseOptions(args, LOGIN_OPTIONS);
  const info = infoText('login', options);
  if (info !== null) return printed(out, info);
  const [name, ...more] = options.positionals;
  if (more.length > 0) {
    throw new UsageError(
      'A key is no argument: other processes can read arguments. Type it when you are asked, or pipe it in. ' +
        'If this was a key, ask your provider for a new one.',
    );
  }
  if (loginFile(io) === null) throw new UsageError('There is no place to keep a key. Set HOME or XDG_CONFIG_HOME.');
  const provider = name === undefined ? null : await providerOf(name, io.env);
  const terminal = openTerminal(io, err, readLines(io.stdin));
  const variable = options.text('env');
  if (!terminal.isThere || variable !== undefined) {
    if (provider === null) throw new UsageError('Name the provider: treadle login anthropic < key.txt');
    const text =
      variable === undefined ? await interruptions.unless(readStandardInput(io, 'patient', note)) : `$${variable}`;
    await keepPiped(provider, text ?? '', io);
  } else {
    const asking = { io, terminal, stopped: interruptions.first, note };
    const isDone = await interruptions.unless(provider ? askForKey(provider, asking) : askForLogin(asking));
    if (!isDone) throw new UsageError('Nothing was typed, and nothing is kept.');
  }
  const { model } = await readLogin(io);
  out.print(
    model === 'demo' ? 'The demo model answers from now on.\n' : `Kept in ${loginFile(io)}, which only you can read.\n`,
  );
  const set = provider && io.env[provider.variable] ? provider.variable : null;
  if (set !== null) note(`${set} is set in the environment, and counts before what is kept.`);
  if (provider && provider.model === null && model === null) {
    note(`Name a model: treadle --model ${provider.name}/MODEL (treadle models ${provider.name} lists them).`);
  }
  return EXIT.done;
}

async function keepPiped(provider: KeyedProvider, text: string, io: CommandContext['io']): Promise<void> {
  const key = readKey(text);
  if (typeof key === 'string') throw new UsageError(key);
  const { model } = await readLogin(io);
  await keepKey(provider, key, provider.model !== null || model === 'demo' ? null : model, io);
}

/** `treadle logout [PROVIDER]`: forgets one key, or all. Returns the exit code. */
export async function logoutCommand({ io, out, note }: CommandContext, args: readonly string[]): Promise<number> {
  const options = parseOptions(args, LOGOUT);
  const info = infoText('logout', options);
  if (info !== null) return printed(out, info);
  const [name, ...more] = options.positionals;
  if (more.length > 0) throw new UsageError('Name one provider, or none for all: treadle logout anthropic');
  const provider = name === undefined ? null : await providerOf(name, io.env);
  const { keys } = await readLogin(io);
  const gone = Object.keys(keys).filter((variable) => provider === null || variable === provider.variable);
  await changeLogin(io, (login) => ({
    keys: Object.fromEntries(Object.entries(login.keys).filter(([variable]) => !gone.includes(variable))),
    model: provider === null || login.model?.startsWith(`${provider.name}/`) === true ? null : login.model,
  }));
  out.print(gone.length === 0 ? 'No key is kept.\n' : `Forgotten: ${gone.join(', ')}.\n`);
  for (const variable of provider ? [provider.variable] : gone) {
    if (io.env[variable]) note(`${variable} is still set in the environment.`);
  }
  return EXIT.done;
}

const { help, version } = LOGIN_OPTIONS;
const LOGOUT = { help, version } as const;
