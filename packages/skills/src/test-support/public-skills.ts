// Twenty skills with the habits of public ones: long descriptions, colons without quotes, names unlike their folders.

/** A skill's files, by their path below the folder of skills. */
export interface PublicSkill {
  readonly folder: string;
  /** The name it is loaded under; null when it must be reported as an error. */
  readonly name: string | null;
  /** Codes of what is reported about it. */
  readonly reported: readonly string[];
  readonly files: Readonly<Record<string, string>>;
}

const skillOf = (
  folder: string,
  name: string | null,
  reported: readonly string[],
  text: string,
  more: Readonly<Record<string, string>> = {},
): PublicSkill => ({ folder, name, reported, files: { 'SKILL.md': text, ...more } });

const LONG = `Design and review HTTP APIs. ${'Use it for resources, paging, errors, versions and limits. '.repeat(18)}`;

export const PUBLIC_SKILLS: readonly PublicSkill[] = [
  skillOf(
    'pdf-forms',
    'pdf-forms',
    [],
    '---\nname: pdf-forms\ndescription: Fill, merge and split PDF files. Use when a user has a form.\nlicense: Proprietary. LICENSE.txt has the terms\n---\n\n# PDF forms\n\nRead references/fields.md, then run scripts/fill.py.\n',
    {
      'scripts/fill.py': 'print("filled")\n',
      'references/fields.md': 'See [dates](more/dates.md).\n',
      'references/more/dates.md': 'Dates are ISO 8601.\n',
      'LICENSE.txt': 'All rights reserved.\n',
    },
  ),
  skillOf(
    'web-review',
    'web-review',
    ['bad_front_matter'],
    '---\nname: web-review\ndescription: Review pages. Triggers: "review my UI", "check accessibility". Note: not for native apps.\n---\nLook at contrast first.\n',
  ),
  skillOf(
    'api-design',
    'api-design',
    ['bad_description'],
    `---\nname: api-design\ndescription: ${LONG}\n---\nStart with nouns.\n`,
  ),
  skillOf(
    'react-practices',
    'acme-react-practices',
    ['bad_name'],
    '---\nname: acme-react-practices\ndescription: >-\n  Performance rules for React.\n  Use when writing components.\nmetadata:\n  author: acme\n  version: "1.0.0"\n---\nAvoid waterfalls.\n',
    { 'rules/async-parallel.md': 'Start first, await later.\n', 'rules/_template.md': '## Title\n' },
  ),
  skillOf(
    'template-skill',
    'template-skill',
    ['bad_name'],
    '---\nname: Template Skill\ndescription: Replace with what it does.\n---\n\n# Insert instructions below\n',
  ),
  skillOf(
    'deploy',
    'deploy',
    [],
    '---\nname: deploy\ndescription: "Deploy an app: preview by default."\nallowed-tools: Bash(git status:*) Bash(npm run build) Read\n---\nRun scripts/deploy.sh.\n',
    { 'scripts/deploy.sh': '#!/bin/sh\necho deployed\n' },
  ),
  skillOf(
    'release-notes',
    'release-notes',
    [],
    '---\nname: release-notes\ndescription: |\n  Write release notes.\n\n  Steps: collect, group, write.\nallowed-tools:\n  - Read\n  - Grep\n---\nGroup by audience.\n',
  ),
  skillOf(
    'crlf-notes',
    'crlf-notes',
    [],
    '\uFEFF---\r\nname: crlf-notes\r\ndescription: Written on Windows.\r\n---\r\nKeep the line ends.\r\n',
  ),
  skillOf(
    'sql-tuning',
    'sql-tuning',
    ['bad_front_matter'],
    '---\nname: sql-tuning\ndescription: Tune queries: plans, indexes\n  and statistics: all of them.\nversion: 2.1\nuser-invocable: true\n---\nBegin with EXPLAIN.\n',
  ),
  skillOf(
    'brand',
    'brand',
    ['bad_front_matter'],
    '---\nname: brand\ndescription: *Always* use this for colours and type.\n---\nBlue is #0055FF.\n',
  ),
  skillOf(
    'commit-style',
    'commit-style',
    ['bad_front_matter'],
    '---\nname: commit-style\ndescription: "Conventional" commits, and when: always.\n---\nUse the imperative.\n',
  ),
  skillOf('numbers', '2026', ['bad_name'], '---\nname: 2026\ndescription: 42\nlicense: yes\n---\nCount.\n'),
  skillOf(
    'übersetzung',
    'übersetzung',
    [],
    '---\nname: übersetzung\ndescription: Translate into German.\n---\nSei genau.\n',
  ),
  skillOf('empty-body', 'empty-body', [], '---\nname: empty-body\ndescription: Has nothing to say.\n---'),
  skillOf('no-name', 'no-name', ['bad_name'], '---\ndescription: Its folder has the name.\n---\nFine.\n'),
  skillOf('no-description', null, ['bad_description'], '---\nname: no-description\n---\nNobody knows when.\n'),
  skillOf('plain-readme', null, ['bad_front_matter'], '# A skill without front matter\n'),
  skillOf('Bad Name', null, ['bad_name'], '---\nname: Also Bad\ndescription: Has no name at all.\n---\nNo.\n'),
  skillOf(
    'broken-yaml',
    null,
    ['bad_front_matter'],
    '---\nname: broken-yaml\ndescription: Fine so far.\nmetadata:\n\t- [a\n---\nNo.\n',
  ),
  {
    folder: 'lower-case',
    name: null,
    reported: ['no_skill_file'],
    files: { 'skill.md': '---\nname: lower-case\ndescription: Its file is spelt otherwise.\n---\n' },
  },
];
