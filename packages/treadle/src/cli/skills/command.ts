import { loadSkills, skillsPrompt, type SkillSet } from '@treadle/skills';

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { exactLine } from '../asking/plain-text.ts';
import { SKILLS_COMMANDS, SKILLS_OPTIONS } from '../commands.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { helpText, infoText } from '../help.ts';
import { printed } from '../io.ts';
import { parseOptions } from '../options.ts';
import { actingPlugins } from '../plugins/store.ts';
import { skillsInReach } from '../run/skills.ts';
import { realFolder } from '../sessions/folder-sessions.ts';
import { suggestion, UsageError } from '../usage-error.ts';
import { findFolderSettings } from '../../settings/combine.ts';

/** `treadle skills`: the skills that there are for a folder, and what is wrong with them. Returns the exit code. */
export async function skillsCommand({ io, out, note }: CommandContext, args: readonly string[]): Promise<number> {
  const options = parseOptions(args, SKILLS_OPTIONS);
  const info = infoText('skills', options);
  if (info !== null) return printed(out, info);
  const [word, ...folders] = options.positionals;
  if (word === undefined) {
    out.print(helpText('skills'));
    return EXIT.usage;
  }
  if (word !== 'list' && word !== 'check') {
    throw new UsageError(
      `treadle skills knows no '${word}'.${suggestion(word, SKILLS_COMMANDS)} See: treadle skills --help`,
    );
  }
  if (word === 'list' && folders.length > 0)
    throw new UsageError(`'${folders.join(' ')}' is too much: treadle skills list`);
  const folder = await realFolder(io.cwd, options.text('cwd') ?? '.');
  const missing = folders.find((path) => !existsSync(resolve(io.cwd, path)));
  if (missing !== undefined) throw new UsageError(`There is no folder ${missing}.`);
  const reach = await skillsInReach(folder, io, options.list('skills') ?? [], await actingPlugins(io, note));
  const set = await loadSkills(
    folders.length > 0 ? folders.map((path) => resolve(io.cwd, path)) : [...reach.own, ...reach.project],
  );
  const { isTrusted } = await findFolderSettings(folder, io);
  if (options.flag('json')) out.print(`${JSON.stringify({ trusted: isTrusted, ...set })}\n`);
  else out.print(word === 'list' ? listText(set, isTrusted) : checkText(set));
  return word === 'check' && set.problems.some(({ severity }) => severity === 'error') ? EXIT.error : EXIT.done;
}

function listText({ skills, problems }: SkillSet, isTrusted: boolean): string {
  if (skills.length === 0 && problems.length === 0) return 'No skills. Put one into .agents/skills/NAME/SKILL.md.\n';
  const lines = skills.map(({ name, source, description, path, suggestedRules }) => {
    const state = source === 'project' && !isTrusted ? 'project, not trusted' : source;
    const suggested = `suggests, without granting it: ${suggestedRules.join(', ')}`;
    const more = [path, ...(suggestedRules.length === 0 ? [] : [suggested])];
    return [`${name} (${state}): ${description}`, ...more.map((line) => `  ${line}`)].map(exactLine).join('\n');
  });
  const flaws = problems.length === 0 ? '' : `Problems: ${problems.length}. See: treadle skills check\n`;
  return `${lines.map((line) => `${line}\n`).join('')}${flaws}`;
}

function checkText({ skills, problems }: SkillSet): string {
  const lines = problems.map(({ severity, code, path, message }) =>
    exactLine(`${severity} ${code}: ${path}: ${message}`),
  );
  skillsPrompt({ skills, problems }, { onWarning: (message) => lines.push(`warning: ${message}`) });
  return [...lines, `${skills.length} skills can be used.`, ''].join('\n');
}
