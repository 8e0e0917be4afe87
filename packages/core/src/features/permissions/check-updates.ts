import { TreadleError } from '../../errors.ts';
import {
  type PermissionUpdate,
  type RuleBehavior,
  type UpdateDestination,
  PERMISSION_MODES,
} from '../../events/permission-updates.ts';
import { isJsonObject } from '../../json.ts';
import { toolNameProblem } from '../../names/tool-names.ts';
import { readRule, refusedRule } from './rules/rule.ts';

/**
 * Checks updates that came from outside.
 *
 * @param allowBypass whether the agent's definition makes the mode `bypass` possible
 * @param tools names of the tools there are: rules that deny or ask must be about one. Absent: that isn't checked.
 * @throws TreadleError `invalid_definition`, which says what is wrong with which of them.
 */
export function checkUpdates(
  given: unknown,
  allowBypass: boolean,
  tools?: Iterable<string>,
): readonly PermissionUpdate[] {
  if (!Array.isArray(given)) throw wrong('they must be a list');
  return given.map((update: unknown) => checkUpdate(update, allowBypass, tools && [...tools]));
}

const wrong = (problem: string): TreadleError =>
  new TreadleError('invalid_definition', `The permission updates can't be used: ${problem}.`);

const DESTINATIONS: readonly UpdateDestination[] = ['userSettings', 'projectSettings', 'localSettings', 'session'];

const BEHAVIORS: readonly RuleBehavior[] = ['allow', 'ask', 'deny'];

function checkUpdate(update: unknown, allowBypass: boolean, tools: readonly string[] | undefined): PermissionUpdate {
  if (!isJsonObject(update)) throw wrong('each of them must be an object');
  const destination = oneOf('destination', update['destination'], DESTINATIONS);
  const { type } = update;
  if (type === 'setMode') {
    const mode = oneOf('mode', update['mode'], PERMISSION_MODES);
    if (mode === 'bypass' && !allowBypass) throw wrong('the mode bypass needs allowBypass: true in the agent');
    return { type, mode, destination };
  }
  if (type === 'addDirectories' || type === 'removeDirectories') {
    const directories = texts('directories', update['directories']);
    const relative = directories.find((folder) => !folder.startsWith('/') || folder.split('/').includes('..'));
    if (relative !== undefined) throw wrong(`the folder ${JSON.stringify(relative)} must be an absolute path`);
    return { type, directories, destination };
  }
  if (type !== 'addRules' && type !== 'replaceRules' && type !== 'removeRules') {
    throw wrong(`there is no type ${JSON.stringify(type)}`);
  }
  const behavior = oneOf('behavior', update['behavior'], BEHAVIORS);
  const holds = type !== 'removeRules' && behavior !== 'allow';
  const rules = texts('rules', update['rules']).map((written) => {
    const { text, tool } = readRule(written, destination);
    const problem = holds && tools ? toolNameProblem(tool, tools) : null;
    if (problem !== null) throw refusedRule(text, problem);
    return text;
  });
  return { type, rules, behavior, destination };
}

function oneOf<Value extends string>(name: string, value: unknown, known: readonly Value[]): Value {
  const found = known.find((item) => item === value);
  if (found !== undefined) return found;
  throw wrong(`${name} must be one of ${known.join(', ')}, and it is ${JSON.stringify(value)}`);
}

function texts(name: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw wrong(`${name} must be a list of texts`);
}
