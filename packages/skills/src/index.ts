export { loadSkills, mergeSkills, type SkillFolder, type SkillSet } from './load.ts';
export { commandFolders, skillFolders, type SkillPlaces } from './folders.ts';
export type { Skill, SkillProblem, SkillProblemCode } from './skill.ts';
export { isActiveSkill, skillsPrompt, skillTools, withSkills, type SkillsPromptOptions } from './agent.ts';
export { expandCommand, loadCommands, type Command, type CommandFolder, type CommandSet } from './commands.ts';
export { loadPlugin, type Plugin } from './plugins/plugin.ts';
export { pluginDigest } from './plugins/digest.ts';
