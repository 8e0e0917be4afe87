import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { OpenApiProblem } from './problem.ts';
import type { Follow } from './document/references.ts';

/**
 * What proves who asks, for one security scheme: an API key or a token, a name and a password, or a function that brings a
 * key or a token for each call, such as one of OAuth.
 */
export type OpenApiCredential =
  string | { readonly username: string; readonly password: string } | (() => string | Promise<string>);

/** Where a credential goes. */
interface Placement {
  readonly in: 'header' | 'query' | 'cookie' | 'bearer' | 'basic';
  /** Of the header, the pair or the cookie; empty for the others. */
  readonly name: string;
}

/** One credential of an operation: which, and where it goes. */
export interface Needed {
  readonly scheme: string;
  readonly credential: OpenApiCredential;
  readonly place: Placement;
}

/** What a call carries that no model sees. */
export interface Proof {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [string, string])[];
  readonly cookies: readonly (readonly [string, string])[];
  /** All secrets in it, which are taken out of what comes back. */
  readonly secrets: readonly string[];
}

/**
 * The credentials that an operation is called with: those of the first alternative that all are there for. None when there
 * is no such alternative; the server then says what it thinks of that.
 */
export function neededFor(
  requirements: JsonValue | undefined,
  document: JsonObject,
  follow: Follow,
  credentials: Readonly<Record<string, OpenApiCredential>>,
): readonly Needed[] {
  if (!Array.isArray(requirements)) return [];
  for (const alternative of requirements as JsonValue[]) {
    if (!isJsonObject(alternative)) continue;
    const names = Object.keys(alternative);
    if (!names.every((name) => Object.hasOwn(credentials, name))) continue;
    return names.flatMap((scheme) => {
      const credential = credentials[scheme];
      const definition = schemesOf(document, follow)[scheme];
      if (credential === undefined || definition === undefined) return [];
      return [{ scheme, credential, place: placementOf(scheme, follow(definition)) }];
    });
  }
  return [];
}

/** The document's security schemes, by name. */
function schemesOf(document: JsonObject, follow: Follow): JsonObject {
  const { components } = document;
  if (!isJsonObject(components) || components['securitySchemes'] === undefined) return {};
  return follow(components['securitySchemes']);
}

function placementOf(scheme: string, definition: JsonObject): Placement {
  const { type, in: place, name, scheme: http } = definition;
  if (type === 'oauth2' || type === 'openIdConnect') return { in: 'bearer', name: '' };
  if (
    type === 'apiKey' &&
    typeof name === 'string' &&
    (place === 'header' || place === 'query' || place === 'cookie')
  ) {
    return { in: place, name };
  }
  const kind = type === 'http' && typeof http === 'string' ? http.toLowerCase() : '';
  if (kind === 'bearer' || kind === 'basic') return { in: kind, name: '' };
  throw new OpenApiProblem('unsupported', `The security scheme ${scheme} is of a kind that nobody here knows.`);
}

/** The names that credentials take, by place: no model may set such a parameter. */
export function hiddenNames(document: JsonObject, follow: Follow): ReadonlySet<string> {
  const hidden = new Set<string>();
  for (const definition of Object.values(schemesOf(document, follow))) {
    const scheme = follow(definition);
    const { in: place, name } = scheme;
    if (scheme['type'] === 'apiKey' && typeof place === 'string' && typeof name === 'string')
      hidden.add(placed(place, name));
  }
  return hidden;
}

/** A name with its place, as `hiddenNames` has it. Headers don't care for case. */
export const placed = (place: string, name: string): string =>
  `${place} ${place === 'header' ? name.toLowerCase() : name}`;

/** @throws OpenApiProblem `no_credentials` when one can't be had. */
export async function proofOf(needed: readonly Needed[]): Promise<Proof> {
  const headers: Record<string, string> = {};
  const query: [string, string][] = [];
  const cookies: [string, string][] = [];
  const secrets: string[] = [];
  for (const { scheme, credential, place } of needed) {
    const pair = typeof credential === 'object' ? credential : null;
    const token =
      pair === null ? await tokenOf(scheme, credential as Exclude<OpenApiCredential, object>) : pair.password;
    secrets.push(token);
    if (place.in === 'basic') {
      const plain = pair === null ? token : `${pair.username}:${pair.password}`;
      const encoded = Buffer.from(plain).toString('base64');
      headers['authorization'] = `Basic ${encoded}`;
      secrets.push(encoded);
    } else if (place.in === 'bearer') headers['authorization'] = `Bearer ${token}`;
    else if (place.in === 'header') headers[place.name.toLowerCase()] = token;
    else if (place.in === 'query') query.push([place.name, token]);
    else cookies.push([place.name, token]);
  }
  return { headers, query, cookies, secrets };
}

async function tokenOf(scheme: string, credential: string | (() => string | Promise<string>)): Promise<string> {
  try {
    const token = typeof credential === 'string' ? credential : await credential();
    if (typeof token === 'string' && token !== '') return token;
  } catch (error) {
    // Why is for the application, in the cause: the message goes to a model.
    throw new OpenApiProblem('no_credentials', `The credential ${scheme} could not be had.`, error);
  }
  throw new OpenApiProblem('no_credentials', `The credential ${scheme} is empty.`);
}
