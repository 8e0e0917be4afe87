import { scriptedModel } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  asTool,
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  memoryJournal,
  type Agent,
  type Hook,
  type PermissionOptions,
  type Tool,
} from '../../index.ts';
import { evaluate, type CallSubject, type Verdict } from '../permissions/evaluate.ts';
import { loadRule } from '../permissions/rules/load.ts';
import { policyOf } from '../permissions/policy.ts';
import { systemClock } from '../../ports/clock.ts';
import { childAgent } from '../../agent/child-agent.ts';

const PATHS = ['src/a.ts', 'src/b.ts', 'notes/c.md', '/etc/hosts'];

const fileTool = (name: string, done: string[] = []): Tool =>
  defineTool({
    name,
    description: 'Touches a file.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    access: ({ path }) => ({
      folder: '/work',
      paths: [{ path: path.startsWith('/') ? path : `/work/${path}`, write: name === 'write' }],
      edits: name === 'write',
      readOnly: name === 'read',
    }),
    execute: ({ path }) => {
      done.push(`${name} ${path}`);
      return 'done';
    },
  });

const rule = fc.constantFrom('read', 'write', 'read(src/**)', 'write(src/**)', 'write(notes/**)', 'read(/etc/**)', '*');
const rules = fc.array(rule, { maxLength: 2 });
const permissions: fc.Arbitrary<PermissionOptions> = fc.record({
  mode: fc.constantFrom('default', 'acceptEdits', 'plan', 'dontAsk', 'bypass'),
  allowBypass: fc.constant(true),
  allow: rules,
  ask: rules,
  deny: rules,
});
const subject = fc.record({ tool: fc.constantFrom('read', 'write'), path: fc.constantFrom(...PATHS) });

const subjectOf = ({ tool, path }: { readonly tool: string; readonly path: string }): CallSubject => ({
  toolName: tool,
  access: {
    folder: '/work',
    paths: [{ path: path.startsWith('/') ? path : `/work/${path}`, write: tool === 'write' }],
    edits: tool === 'write',
    readOnly: tool === 'read',
  },
  readOnly: tool === 'read',
  needsApproval: false,
  isUnknown: false,
});

const tools = ['read', 'write'].map((name) => fileTool(name));
const agentWith = (given: PermissionOptions): Agent =>
  defineAgent({ model: scriptedModel([]), tools, permissions: given });

/** The agent as a sub-agent of another one. */
function below(parent: Agent, child: Agent, grants: readonly string[] = []): Agent {
  const policy = policyOf(parent.permissions, null);
  return childAgent(
    {
      agent: parent,
      sessionId: 's',
      runId: 'r',
      rights: () => [policy, ...(policy.above ?? [])],
      purse: null,
      clock: systemClock,
      warn: () => {},
    },
    {
      agentType: 'child',
      agent: child,
      prompt: 'Go.',
      resume: null,
      limits: {},
      grants: grants.map((text) => loadRule(text, 'allow', 'agent')),
    },
  );
}

const verdictOf = ({ permissions: config }: Agent, call: CallSubject): Verdict =>
  evaluate(policyOf(config, null), call);

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const;
const strictness = ({ outcome }: Verdict): number => STRICTNESS[outcome];

describe('the rights of a sub-agent', () => {
  it('are never more than those of any agent above it, nor than its own, whatever the rules', () => {
    fc.assert(
      fc.property(fc.array(permissions, { minLength: 2, maxLength: 4 }), subject, (chain, call) => {
        const agents = chain.map(agentWith);
        const told = subjectOf(call);
        const last = agents.slice(1).reduce((parent, child) => below(parent, child), agents[0] ?? agentWith({}));
        const alone = agents.map((agent) => strictness(verdictOf(agent, told)));
        expect(strictness(verdictOf(last, told))).toBe(Math.max(...alone));
      }),
      { numRuns: 500 },
    );
  });

  it('are more where the agent above grants it, and never where anybody denies or wants to be asked', () => {
    fc.assert(
      fc.property(permissions, permissions, rules, subject, (one, other, grants, call) => {
        const [parent, child] = [agentWith(one), agentWith(other)];
        const told = subjectOf(call);
        const [without, granted] = [below(parent, child), below(parent, child, grants)].map((agent) =>
          verdictOf(agent, told),
        );
        if (!without || !granted) throw new Error('There are two.');
        expect(strictness(granted)).toBeLessThanOrEqual(strictness(without));
        for (const agent of [parent, child]) {
          const verdict = verdictOf(agent, told);
          const isFirm =
            verdict.outcome === 'deny' && (verdict.by.type === 'rule' || agent.permissions.mode === 'plan');
          if (isFirm) expect(granted.outcome).toBe('deny');
          if (verdict.outcome === 'ask' && verdict.explicit) expect(granted.outcome).not.toBe('allow');
        }
        if (granted.outcome === 'allow' && without.outcome !== 'allow') {
          const allows = (text: string): boolean =>
            verdictOf(agentWith({ mode: 'dontAsk', allow: [text] }), told).outcome === 'allow';
          expect(grants.some(allows)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** A boss whose reader tries to write, and what was done. */
async function tries(
  parent: { readonly permissions?: PermissionOptions; readonly hooks?: readonly Hook[] },
  child: { readonly permissions?: PermissionOptions } = {},
): Promise<{ readonly done: readonly string[]; readonly status: string }> {
  const done: string[] = [];
  const write = { name: 'write', arguments: { path: 'src/a.ts' } };
  const writer = defineAgent({
    id: 'writer',
    model: scriptedModel([{ toolCalls: [write] }, 'Tried.']),
    tools: [fileTool('write', done)],
    ...child,
  });
  const agent = defineAgent({
    model: scriptedModel([{ toolCalls: [{ name: 'writer', arguments: { prompt: 'Write.' } }] }, 'Done.']),
    tools: [asTool(writer, { description: 'Writes.' })],
    ...parent,
  });
  const session = await createSession(agent, { journal: memoryJournal() });
  return { done, status: (await session.prompt('Go.').result).status };
}

describe('a sub-agent', () => {
  it('does what it and its parent may', async () => {
    const edits: PermissionOptions = { mode: 'acceptEdits' };
    expect(await tries({ permissions: edits }, { permissions: edits })).toEqual({
      done: ['write src/a.ts'],
      status: 'completed',
    });
  });

  it.each<[string, PermissionOptions, PermissionOptions]>([
    ['its parent is denied', { mode: 'acceptEdits', deny: ['write'] }, { mode: 'acceptEdits', allow: ['write'] }],
    ['its parent only plans', { mode: 'plan' }, { mode: 'bypass', allowBypass: true }],
    ['it is denied itself', { mode: 'bypass', allowBypass: true }, { deny: ['write(src/**)'] }],
  ])('does not do what %s', async (_, parent, child) => {
    expect(await tries({ permissions: parent }, { permissions: child })).toEqual({ done: [], status: 'completed' });
  });

  it("asks its parent's callback where it has none", async () => {
    const asked: string[] = [];
    const canUseTool: PermissionOptions['canUseTool'] = (tool, _, { sessionId }) => {
      asked.push(`${tool} ${sessionId.slice(0, 4)}`);
      return { behavior: 'allow' };
    };
    expect((await tries({ permissions: { canUseTool } })).done).toEqual(['write src/a.ts']);
    expect(asked).toEqual(['write sub_']);
  });

  it.each<[string, () => unknown]>([
    ['crashes', () => Promise.reject(new Error('spawn ENOENT'))],
    ['answers garbage', () => ({ decision: 'perhaps' })],
    ['says no', () => false],
  ])("H2: does not run a call when its parent's gate hook %s", async (_, answer) => {
    const edits: PermissionOptions = { mode: 'acceptEdits' };
    const gate = defineHook('before_tool', answer as () => boolean, { matcher: 'write' });
    expect((await tries({ permissions: edits, hooks: [gate] }, { permissions: edits })).done).toEqual([]);
  });

  it("H2: does not run a call when its parent's gate hook takes too long", async () => {
    const edits: PermissionOptions = { mode: 'acceptEdits' };
    const gate = defineHook('before_tool', () => new Promise<boolean>(() => {}), { matcher: 'write', timeoutMs: 5 });
    expect((await tries({ permissions: edits, hooks: [gate] }, { permissions: edits })).done).toEqual([]);
  });

  it('does not start when a subagent_start hook says no, or fails', async () => {
    for (const answer of [() => false, () => Promise.reject(new Error('broken'))]) {
      const gate = defineHook('subagent_start', answer, { matcher: 'writer' });
      const edits: PermissionOptions = { mode: 'acceptEdits' };
      expect((await tries({ permissions: edits, hooks: [gate] }, { permissions: edits })).done).toEqual([]);
    }
  });

  it('goes on when a subagent_stop hook, which is given its transcript, says no', async () => {
    const told: [string, boolean, number][] = [];
    const model = scriptedModel(['Half.', 'Whole.']);
    const worker = defineAgent({ id: 'worker', model });
    const gate = defineHook('subagent_stop', ({ text, stopHookActive, transcript }) => {
      told.push([text, stopHookActive, transcript.length]);
      return text === 'Half.' ? { decision: 'deny', reason: 'Do the rest.' } : undefined;
    });
    const agent = defineAgent({
      model: scriptedModel([
        { toolCalls: [{ name: 'worker', arguments: { prompt: 'Work.' } }] },
        ({ messages }) =>
          messages.flatMap((each) => (each.role === 'tool' ? [(each.content[0] as { text: string }).text] : [])).join(),
      ]),
      tools: [asTool(worker, { description: 'Works.' })],
      hooks: [gate],
    });
    const session = await createSession(agent);
    expect((await session.prompt('Go.').result).text).toBe('Whole.');
    expect(told).toEqual([
      ['Half.', false, 2],
      ['Whole.', true, 4],
    ]);
  });
});
