/** Words that make a variable's name look like a secret's, as the last word of a `_`-separated part. */
const secretEnding = /(?:APIKEY|ACCESSKEY|PRIVATEKEY|TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$/;
const secretWords = new Set(['KEY', 'KEYS', 'AUTH', 'PASS', 'PAT', 'PW', 'DSN', 'COOKIE', 'JWT']);
/** Look like secrets, but name a socket or a setting. */
const harmless = new Set(['SSH_AUTH_SOCK', 'XAUTHORITY']);
const credentialsInUrl = /^[a-z][a-z0-9+.-]*:\/\/[^/\s@]*:[^/\s@]+@/i;

/** True when the name, or a URL with a password as value, says that the variable is a secret. */
export function looksSecret(name: string, value: string): boolean {
  if (credentialsInUrl.test(value)) return true;
  const upper = name.toUpperCase();
  if (harmless.has(upper)) return false;
  const words = upper.split(/[^A-Z0-9]+/);
  return words.some((word) => secretWords.has(word) || secretEnding.test(word));
}

/** The variables of `environment` that don't look like secrets. */
export function withoutSecrets(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && !looksSecret(name, value)) kept[name] = value;
  }
  return kept;
}

/** Set for every command: nobody is there to page, type or watch colours. */
export const commandVariables: Readonly<Record<string, string>> = {
  TERM: 'dumb',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
};
