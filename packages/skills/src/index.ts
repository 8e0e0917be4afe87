export { loadSkills, mergeSkills, type SkillFolder, type SkillSet } from './load.ts';
export { skillFolders, type SkillPlaces } from './folders.ts';
export type { Skill, SkillProblem, SkillProblemCode } from './skill.ts';
export { isActiveSkill, skillsPrompt, skillTools, withSkills } from './agent.ts';
