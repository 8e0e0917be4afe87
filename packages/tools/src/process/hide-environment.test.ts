import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { processesShowing } from './shown-secrets.ts';

const isLinux = process.platform === 'linux';
const SECRETS = { OPENAI_API_KEY: 'sk-0123456789abcdef', MY_PASSWORD: 'päss wörd=x', EMPTY_TOKEN: '' };
const PLAIN = { PLAIN: 'stays', URL: 'https://example.com', PROXY: 'http://me:s3cret@proxy.test' };

/** What a process finds out about itself: it is started with `env` and runs `script`, whose value it prints. */
async function inProcess(script: string, env: Readonly<Record<string, string>>): Promise<unknown> {
  const url = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);
  const program = `
    import { readFileSync } from 'node:fs';
    import { execFileSync } from 'node:child_process';
    import { hideEnvironment } from ${url('./hide-environment.ts')};
    import { processesShowing } from ${url('./shown-secrets.ts')};
    const shown = (pid = 'self') => Object.fromEntries(readFileSync('/proc/' + pid + '/environ', 'utf8').split('\\0')
      .filter((line) => line.includes('=')).map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
    const value = await (async () => { ${script} })();
    process.stdout.write(JSON.stringify(value));`;
  const child = spawn(process.execPath, ['--conditions=treadle-source', '--input-type=module', '--eval', program], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  await once(child, 'close');
  return JSON.parse(printed);
}

describe.runIf(isLinux)('hideEnvironment', () => {
  it('takes what looks like a secret out of what the system shows, and nothing else', async () => {
    const seen = await inProcess('const said = hideEnvironment(); return { said, shown: shown() };', {
      ...SECRETS,
      ...PLAIN,
    });
    expect(seen).toMatchObject({ said: { hidden: true, reason: null }, shown: { PLAIN: 'stays', URL: PLAIN.URL } });
    const { shown } = seen as { readonly shown: Readonly<Record<string, string>> };
    for (const name of ['OPENAI_API_KEY', 'MY_PASSWORD', 'PROXY']) expect(shown[name]).toMatch(/^\*+$/);
    expect(Object.keys(shown)).toContain('EMPTY_TOKEN');
  });

  it('leaves the process its variables, and what it starts', async () => {
    const script = `hideEnvironment();
      const child = execFileSync('sh', ['-c', 'printf %s "$OPENAI_API_KEY/$MY_PASSWORD/$PLAIN"']).toString();
      return { key: process.env.OPENAI_API_KEY, word: process.env.MY_PASSWORD, plain: process.env.PLAIN, child };`;
    expect(await inProcess(script, { ...SECRETS, ...PLAIN })).toEqual({
      key: SECRETS.OPENAI_API_KEY,
      word: SECRETS.MY_PASSWORD,
      plain: 'stays',
      child: `${SECRETS.OPENAI_API_KEY}/${SECRETS.MY_PASSWORD}/stays`,
    });
  });

  it('may be called again, and where there is nothing to hide', async () => {
    const twice = 'hideEnvironment(); return [hideEnvironment(), process.env.OPENAI_API_KEY];';
    expect(await inProcess(twice, SECRETS)).toEqual([{ hidden: true, reason: null }, SECRETS.OPENAI_API_KEY]);
    expect(await inProcess('return [hideEnvironment(), shown().PLAIN];', PLAIN)).toEqual([
      { hidden: true, reason: null },
      'stays',
    ]);
  });

  it('hides what was changed or deleted since the process began', async () => {
    const script = `process.env.OPENAI_API_KEY = 'another-key'; delete process.env.MY_PASSWORD;
      const before = shown().OPENAI_API_KEY; hideEnvironment();
      return { before, after: shown(), key: process.env.OPENAI_API_KEY, word: process.env.MY_PASSWORD ?? null };`;
    const seen = await inProcess(script, SECRETS);
    expect(seen).toMatchObject({ before: SECRETS.OPENAI_API_KEY, key: 'another-key', word: null });
    expect(JSON.stringify((seen as { readonly after: unknown }).after)).not.toMatch(/sk-0123|wörd/);
  });
});

describe.runIf(isLinux)('processesShowing', () => {
  it('names the processes whose environments show a secret, and which', async () => {
    const key = `sk-${crypto.randomUUID()}`;
    const child = spawn('sleep', ['60'], { env: { PATH: process.env['PATH'] ?? '', A: `x${key}`, B: 'plain' } });
    onTestFinished(() => void child.kill());
    await once(child, 'spawn');
    expect(await processesShowing({ KEY: key, OTHER: crypto.randomUUID() })).toEqual([
      { pid: child.pid, name: 'sleep', secrets: ['KEY'] },
    ]);
    const gone = once(child, 'exit');
    child.kill();
    await gone;
    expect(await processesShowing({ KEY: key })).toEqual([]);
  });
});
