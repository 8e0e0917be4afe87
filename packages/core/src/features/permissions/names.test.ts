import { scriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import {
  asTool,
  agentsTool,
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  type AgentDefinition,
  type HookEvent,
  type OfferedTool,
  type PermissionOptions,
  type Tool,
} from '../../index.ts';

/** Built-in tools by their names, as far as rules see them. */
const tool = (name: string): Tool =>
  defineTool({
    name,
    description: 'A tool.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' }, command: { type: 'string' } } },
    access: ({ path, command }) => ({
      folder: '/work',
      ...(path === undefined ? {} : { paths: [{ path: `/work/${path}`, write: name.endsWith('_file') }] }),
      ...(command === undefined
        ? {}
        : { commands: { text: command, plain: [{ words: command.split(' ') }], named: [command.split(' ')] } }),
    }),
    execute: () => 'Done.',
  });

const all = ['bash', 'read_file', 'write_file', 'edit_file', 'search', 'list_files', 'web_fetch', 'todo'].map(tool);
const define = (permissions: PermissionOptions, more: Partial<AgentDefinition> = {}) =>
  defineAgent({ model: scriptedModel([]), tools: all, permissions, ...more });
const hooked = (matcher: string, event: HookEvent = 'before_tool', more: Partial<AgentDefinition> = {}) =>
  define({}, { hooks: [defineHook(event, () => true, { matcher, name: 'The hook' })], ...more });

/** What became of one call: `ran`, or why not. */
async function outcome(
  permissions: PermissionOptions,
  name: string,
  args: Readonly<Record<string, string>>,
  more: Partial<AgentDefinition> = {},
): Promise<string> {
  const call: Turn = { toolCalls: [{ name, arguments: args }] };
  const agent = define(permissions, { model: scriptedModel([call, 'Done.']), ...more });
  const session = await createSession(agent);
  let found = 'none';
  for await (const event of session.prompt('Go.')) {
    if (event.type === 'tool_ended') found = 'ran';
    if (event.type === 'tool_call_rejected') found = event.reason;
    if (event.type === 'approval_requested') found = 'asked';
  }
  return found;
}

describe('a rule about a tool that there is not', () => {
  it.each(['allow', 'ask', 'deny'] as const)('is refused, with the nearest name: %s', (behavior) => {
    expect(() => define({ [behavior]: ['bsh(rm:*)'] })).toThrow(
      expect.objectContaining({
        code: 'invalid_definition',
        message: 'The permission rule "bsh(rm:*)" can\'t be used: there is no tool bsh. Did you mean "bash"?',
      }),
    );
  });

  it.each([
    ['raed_file', 'Did you mean "read_file"?'],
    ['raed_*', 'no tool has a name that begins with raed_'],
    ['Raed', 'Did you mean "Read"?'],
    ['mcp_github', 'there is no tool mcp_github'],
    ['frobnicate', 'There are: bash, read_file'],
  ])('is refused also as %s', (rule, words) => {
    expect(() => define({ settings: [{ source: 'userSettings', deny: [{ rule }] }] })).toThrow(words);
  });

  it('is refused in what a sub-agent is granted', () => {
    const helper = define({});
    expect(() => asTool(helper, { name: 'helper', description: 'Helps.', grants: ['bsh'] })).toThrow('no tool bsh');
    expect(() => agentsTool({ helper: { agent: helper, description: 'Helps.', grants: ['bsh'] } })).toThrow(
      'no tool bsh',
    );
  });

  it('is refused while a session lives, where it denies or asks', async () => {
    const session = await createSession(define({}));
    const update = (behavior: 'allow' | 'ask' | 'deny', type: 'addRules' | 'replaceRules' | 'removeRules') =>
      session.updatePermissions([{ type, rules: ['bsh'], behavior, destination: 'session' }]);
    await expect(update('deny', 'addRules')).rejects.toThrow('there is no tool bsh. Did you mean "bash"?');
    await expect(update('ask', 'replaceRules')).rejects.toThrow('there is no tool bsh');
    await update('deny', 'removeRules');
    await update('allow', 'addRules');
  });
});

describe('a rule about a tool that comes later', () => {
  const github: OfferedTool = { name: 'mcp__github__merge', description: 'Merges.', inputSchema: { type: 'object' } };
  const colour: OfferedTool = { ...github, name: 'set_colour' };

  it.each(['mcp__github', 'mcp__github__*', 'mcp__github__merge', 'mcp__*', 'm*', '*'])(
    'is accepted for servers and clients, and holds from then on: %s',
    async (rule) => {
      const model = scriptedModel([{ toolCalls: [{ name: github.name }] }, 'Done.']);
      const session = await createSession(define({ deny: [rule] }, { model }));
      const result = await session.prompt('Merge.', { clientTools: [github] }).result;
      expect(result).toMatchObject({ status: 'completed', pending: [] });
      expect(model.requests[0]?.tools.map(({ name }) => name)).not.toContain(github.name);
      expect(JSON.stringify(result.messages)).toContain(rule);
    },
  );

  it('is accepted by any name that the agent is told of', async () => {
    expect(() => define({ deny: ['set_colour'] })).toThrow('no tool set_colour');
    const model = scriptedModel(['Done.']);
    const session = await createSession(define({ deny: ['set_colour'] }, { model, knownTools: ['set_colour'] }));
    await session.prompt('Red!', { clientTools: [colour] }).result;
    expect(model.requests[0]?.tools.map(({ name }) => name)).not.toContain('set_colour');
  });

  it('may be about the tools of sub-agents, at any depth', () => {
    const helper = defineAgent({ id: 'helper', model: scriptedModel([]), tools: [tool('deploy')] });
    const lead = defineAgent({
      id: 'lead',
      model: scriptedModel([]),
      tools: [asTool(helper, { description: 'Helps.' })],
    });
    const tools = [agentsTool({ lead: { agent: lead, description: 'Leads.' } })];
    const hooks = [defineHook('before_tool', () => true, { matcher: 'deploy' })];
    expect(() => define({ deny: ['deploy', 'helper'] }, { tools, hooks })).not.toThrow();
    expect(() => define({ deny: ['deplyo'] }, { tools })).toThrow('Did you mean "deploy"?');
  });
});

describe('a name that Claude Code has for a tool', () => {
  it.each([
    ['Bash(rm:*)', 'bash', { command: 'rm -rf a' }],
    ['Bash', 'bash', { command: 'ls' }],
    ['Read(secrets/**)', 'read_file', { path: 'secrets/a' }],
    ['Read(secrets/**)', 'search', { path: 'secrets/a' }],
    ['Read(./secrets/**)', 'list_files', { path: 'secrets/a' }],
    ['Edit(secrets/**)', 'edit_file', { path: 'secrets/a' }],
    ['Edit(secrets/**)', 'write_file', { path: 'secrets/a' }],
    ['Write(secrets/**)', 'write_file', { path: 'secrets/a' }],
    ['MultiEdit', 'edit_file', { path: 'a' }],
    ['Grep', 'search', { path: 'a' }],
    ['Glob(secrets/**)', 'list_files', { path: 'secrets/a' }],
    ['LS', 'list_files', { path: 'a' }],
    ['WebFetch', 'web_fetch', {}],
    ['TodoWrite', 'todo', {}],
  ])('denies and asks: %s is about %s', async (rule, name, args) => {
    expect(await outcome({ deny: [rule], mode: 'bypass', allowBypass: true }, name, args)).toBe('denied');
    expect(await outcome({ ask: [rule], mode: 'bypass', allowBypass: true }, name, args)).toBe('asked');
  });

  it('allows that very tool, and no other that does the same', async () => {
    expect(await outcome({ allow: ['Edit(src/**)'] }, 'edit_file', { path: 'src/a' })).toBe('ran');
    expect(await outcome({ allow: ['Edit(src/**)'] }, 'write_file', { path: 'src/a' })).toBe('asked');
    expect(await outcome({ allow: ['Bash(npm test)'] }, 'bash', { command: 'npm test' })).toBe('ran');
    expect(await outcome({ allow: ['Bash(npm test)'] }, 'bash', { command: 'npm run' })).toBe('asked');
  });

  it('holds in what a session adds', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'bash', arguments: { command: 'ls' } }] }, 'Done.']);
    const session = await createSession(define({ mode: 'bypass', allowBypass: true }, { model }));
    await session.updatePermissions([
      { type: 'addRules', rules: ['Bash(ls)'], behavior: 'deny', destination: 'session' },
    ]);
    expect((await session.prompt('Go.').result).permissionDenials).toMatchObject([{ toolName: 'bash' }]);
  });

  it('is that of a tool of your own, where there is one', async () => {
    const own = tool('Bash');
    const more = { tools: [...all, own] };
    const permissions = { deny: ['Bash'], mode: 'bypass', allowBypass: true } as const;
    expect(await outcome(permissions, 'Bash', {}, more)).toBe('denied');
    expect(await outcome(permissions, 'bash', { command: 'ls' }, more)).toBe('ran');
    expect(await outcome({ allow: ['Bash'] }, 'bash', { command: 'ls' }, more)).toBe('asked');
  });

  it('takes its examples as the rule is meant', () => {
    const rule = { rule: 'Bash(rm:*)', match: ['rm -rf a'], noMatch: ['rmdir a'] };
    expect(() => define({ deny: [rule] })).not.toThrow();
    expect(() => define({ deny: [{ ...rule, match: ['ls'] }] })).toThrow('its example "ls" is not matched');
  });
});

describe('the matcher of a hook', () => {
  it.each(['bash', 'Bash', 'Edit|Write', 'mcp__github__.*', 'bash|mcp__x', '.*', 'read_.*', '(?!bash$).*', 'Bash|'])(
    'may be %j',
    (matcher) => {
      expect(() => hooked(matcher)).not.toThrow();
    },
  );

  it.each([
    ['bsh', 'The hook: the matcher "bsh" matches nothing there is. Did you mean "bash"?'],
    ['Edit|Wrte', '"Wrte" matches nothing there is. Did you mean "Write"?'],
    ['ba', '"ba" matches nothing'],
    ['raed_.*', '"raed_.*" matches nothing'],
    ['github__.*', '"github__.*" matches nothing'],
  ])('is refused where it matches no tool: %j', (matcher, words) => {
    for (const event of ['before_tool', 'after_tool', 'permission_request'] as const) {
      expect(() => hooked(matcher, event)).toThrow(words);
    }
  });

  it.each([
    ['session_start', 'startup|resume', 'startups'],
    ['before_compaction', 'auto', 'automatic'],
    ['after_compaction', 'manual', 'manuel'],
    ['notification', 'approval', 'approvals'],
  ] as const)('is refused where %s is never about it', (event, known, unknown) => {
    expect(() => hooked(known, event)).not.toThrow();
    expect(() => hooked(unknown, event)).toThrow(`"${unknown}" matches nothing there is`);
  });

  it('is not checked where the names are anybody’s', () => {
    for (const event of ['session_end', 'subagent_start', 'stop'] as const)
      expect(() => hooked('any', event)).not.toThrow();
    expect(() => hooked('set_colour')).toThrow('matches nothing');
    expect(() => hooked('set_colour', 'before_tool', { knownTools: ['set_colour'] })).not.toThrow();
  });

  it('is about the tool that Claude Code calls so', async () => {
    const gate = (matcher: string) => ({ hooks: [defineHook('before_tool', () => false, { matcher })] });
    const bypass = { mode: 'bypass', allowBypass: true } as const;
    expect(await outcome(bypass, 'bash', { command: 'ls' }, gate('Bash'))).toBe('hook');
    expect(await outcome(bypass, 'write_file', { path: 'a' }, gate('Edit|Write'))).toBe('hook');
    expect(await outcome(bypass, 'write_file', { path: 'a' }, gate('Edit|Read'))).toBe('ran');
    expect(define({}, gate('MultiEdit')).hooks?.has('before_tool', 'edit_file')).toBe(true);
  });
});

describe('a key that nobody reads', () => {
  /** As plain JavaScript may say it. */
  const said = (definition: object) => (): unknown => defineAgent(definition as AgentDefinition);
  const model = scriptedModel([]);

  it('of a definition is refused, with the nearest one', () => {
    expect(said({ model, permision: { deny: ['bash'] } })).toThrow(
      'The definition of an agent has no "permision". Did you mean "permissions"?',
    );
    expect(said({ model, permissions: { dney: ['bash'] } })).toThrow('permissions has no "dney". Did you mean "deny"?');
    expect(said({ model, permissions: { settings: [{ denyed: ['bash'] }] } })).toThrow(
      'permissions.settings has no "denyed". Did you mean "deny"?',
    );
    expect(said({ model, permision: undefined })).not.toThrow();
  });

  it('of a hook is refused, and so is an event that there is not', () => {
    const define = (event: string, options: object) => (): unknown =>
      defineHook(event as HookEvent, () => true, options);
    expect(define('before_tool', { matchr: 'bash' })).toThrow('A hook has no "matchr". Did you mean "matcher"?');
    expect(define('before_tol', {})).toThrow('There is no event "before_tol" for hooks. Did you mean "before_tool"?');
  });
});
