import { TreadleError } from '@treadle/core';

/** What is secret besides what every cassette leaves out. */
export interface Redaction {
  /** Values that must not be in the file, wherever they turn up. */
  readonly values?: readonly string[];
  /** Names of further headers whose values are secret. */
  readonly headers?: readonly string[];
}

const MARK = '[redacted]';

/**
 * Headers and query parameters that carry credentials, by a word of their names: `authorization`, `x-api-key`, `api-key`,
 * `x-goog-api-key`, `x-amz-security-token`, `X-Amz-Signature`, `cookie`. Plurals, as in `ratelimit-tokens`, don't.
 */
const SECRET_NAME =
  /(?:^|[-_])(?:auth|authorization|(?:api|access|secret)?key|(?:access|id|refresh)?token|secret|password|passwd|pwd|cookie2?|signature|sig|credentials?|assertion|jwt|bearer)(?:$|[-_])/i;

/** Further ones in a query: the code and the session of a login. */
const SECRET_PARAMETER = /^(?:code|session|session_?id)$/i;

/** A count, such as `x-amzn-bedrock-input-token-count` has it. */
const COUNT = /^\d{1,9}$/;

/** Headers whose values are addresses. */
const ADDRESS = /^(?:content-)?location$/;

/** Fields of JSON objects and forms whose text is a credential, wherever in a body they are. */
const SECRET_FIELD =
  'access_token|refresh_token|id_token|client_secret|client_assertion|assertion|api_key|apikey|apiKey|password|private_key|secret_access_key|SecretAccessKey|SessionToken|session_token';
const JSON_FIELD = new RegExp(`("(?:${SECRET_FIELD})"\\s*:\\s*")((?:[^"\\\\]|\\\\.)+)(?=")`, 'g');
const FORM_FIELD = new RegExp(`((?:^|&)(?:${SECRET_FIELD})=)(?!redacted(?:&|$))([^&\\s"{}]+)`, 'g');

/** Shorter values of headers are placeholders such as `none`, and would be found in words. */
const SHORTEST_LEARNED = 8;

/** What of a header's value is secret by itself: the token after its scheme, a cookie's value, the parts of a signature. */
const secretsIn = (name: string, value: string): string[] => {
  if (name.startsWith('cookie')) return value.split(/;\s*/).map((cookie) => cookie.replace(/^[^=]*=/, ''));
  if (name.startsWith('set-cookie')) return [value.replace(/^[^=]*=/, '').replace(/;.*$/s, '')];
  const signature = [...value.matchAll(/\b(?:Credential|Signature)=([^/,\s]+)/g)].map(([, part = '']) => part);
  return [value, value.replace(/^\w+\s+/, ''), ...signature];
};

const escapedForPattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The ways a value is written: as it is, in a URL, in JSON, with escaped slashes, and in JSON inside JSON. */
const formsOf = (value: string): string[] => {
  const once = [value, inJson(value), inJson(value).replaceAll('/', '\\/')];
  return [...once, ...once.map(inJson), encodeURIComponent(value)];
};

/** A user name or a password of a URL; one that isn't well encoded is what it is. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const stars = (text: string): string => '*'.repeat(text.length);

/** Takes secrets out of exchanges. What it has seen as a secret once, it finds everywhere from then on. */
export function createCleaner(redaction: Redaction = {}) {
  const forms = new Set<string>();
  const secretHeaders = new Set((redaction.headers ?? []).map((name) => name.toLowerCase()));
  let pattern: RegExp | undefined;

  const learn = (value: string): void => {
    for (const form of formsOf(value)) forms.add(asBytes(form));
    pattern = undefined;
  };
  for (const value of redaction.values ?? []) {
    if (value === '') throw new TreadleError('invalid_definition', 'An empty text can not be redacted.');
    learn(value);
  }

  const learnLong = (value: string): void => {
    if (value.length >= SHORTEST_LEARNED && !forms.has(asBytes(value))) learn(value);
  };

  /** Works on latin1 text: one character is one byte. */
  const clean = (latin1: string): string => {
    if (pattern === undefined && forms.size > 0) {
      // Longest first: one secret may be the beginning of another.
      const sorted = [...forms].sort((a, b) => b.length - a.length);
      pattern = new RegExp(sorted.map(escapedForPattern).join('|'), 'g');
    }
    const known = pattern === undefined ? latin1 : latin1.replace(pattern, stars);
    const field = (_match: string, before: string, value: string): string => before + stars(value);
    return known.replace(JSON_FIELD, field).replace(FORM_FIELD, field);
  };

  const cleanText = (text: string): string => Buffer.from(clean(asBytes(text)), 'latin1').toString('utf8');

  const cleanUrl = (text: string): string => {
    const url = new URL(text);
    learnLong(decoded(url.username));
    learnLong(decoded(url.password));
    url.username = '';
    url.password = '';
    for (const [name, value] of [...url.searchParams]) {
      if (!SECRET_NAME.test(name) && !SECRET_PARAMETER.test(name)) continue;
      learnLong(value);
      url.searchParams.set(name, 'redacted');
    }
    return cleanText(url.href);
  };

  const cleanHeader = (name: string, value: string): string => {
    if (SECRET_NAME.test(name) ? !COUNT.test(value) : secretHeaders.has(name)) return MARK;
    return ADDRESS.test(name) && URL.canParse(value) ? cleanUrl(value) : cleanText(value);
  };

  return {
    /** Headers with lowercase names. The values of secret ones are remembered. */
    headers(headers: Readonly<Record<string, string>>): Record<string, string> {
      const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
      for (const [name, value] of entries)
        if (SECRET_NAME.test(name) || secretHeaders.has(name)) secretsIn(name, value).forEach(learnLong);
      return Object.fromEntries(entries.map(([name, value]) => [name, cleanHeader(name, value)]));
    },
    url: cleanUrl,
    /** The same number of bytes: each byte of a secret becomes an asterisk. */
    bytes: (bytes: Uint8Array): Uint8Array =>
      new Uint8Array(Buffer.from(clean(Buffer.from(bytes).toString('latin1')), 'latin1')),
    text: cleanText,
  };
}
