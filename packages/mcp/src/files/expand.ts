/** What variables in a file stand for. */
export interface FileVariables {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that a file is about: absolute. */
  readonly folder: string;
  readonly home: string | undefined;
}

/**
 * A text with its variables filled in: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${workspaceFolder}`, `${userHome}`.
 *
 * @throws Error that names a variable which has no value.
 */
export function expand(text: string, { env, folder, home }: FileVariables): string {
  return text.replace(/\$\{([^}]*)\}/g, (whole, inside: string) => {
    if (inside === 'workspaceFolder') return folder;
    if (inside === 'workspaceFolderBasename') return folder.split('/').at(-1) ?? '';
    if (inside === 'userHome') return home ?? missing('HOME');
    if (inside === '/' || inside === 'pathSeparator') return '/';
    const named = /^(?:env:)?([A-Za-z_]\w*)(?::-(.*))?$/s.exec(inside);
    if (!named) throw new Error(`${whole} is no variable that is known here`);
    const [, name = '', fallback] = named;
    const value = env[name];
    return value !== undefined && value !== '' ? value : (fallback ?? missing(name));
  });
}

function missing(name: string): never {
  throw new Error(`the variable ${name} is not set`);
}
