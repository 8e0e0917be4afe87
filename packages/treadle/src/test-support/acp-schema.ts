// Whether messages of the Agent Client Protocol are as the SDK's own JSON Schemas have them.

import { Ajv2020 } from 'ajv/dist/2020.js';

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

interface Definition {
  readonly 'x-method'?: string;
}
interface Schema {
  readonly $defs: Readonly<Record<string, Definition>>;
}

const file = createRequire(import.meta.url).resolve('@agentclientprotocol/sdk/schema/v1/schema.json');
const schema = JSON.parse(readFileSync(file, 'utf8')) as Schema;
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(schema, 'acp');

/** The methods of the protocol with their schemas: what is sent, and what is answered. */
const METHODS = new Map<string, { sent?: string; answered?: string }>();
for (const [name, { 'x-method': method }] of Object.entries(schema.$defs)) {
  if (method === undefined) continue;
  const known = METHODS.get(method) ?? {};
  METHODS.set(method, { ...known, [name.endsWith('Response') ? 'answered' : 'sent']: name });
}

/** All methods that the schemas name. */
export const schemaMethods: readonly string[] = [...METHODS.keys()];

/** The kinds of updates that the schemas name. */
export const schemaUpdates: readonly string[] = (
  schema.$defs['SessionUpdate'] as {
    readonly oneOf: readonly { readonly properties: { readonly sessionUpdate: { readonly const: string } } }[];
  }
).oneOf.map(({ properties }) => properties.sessionUpdate.const);

/** One message on the wire, and who has sent it. */
export interface Sent {
  readonly from: 'client' | 'agent';
  readonly message: {
    readonly jsonrpc?: unknown;
    readonly id?: string | number | null;
    readonly method?: string;
    readonly params?: unknown;
    readonly result?: unknown;
    readonly error?: unknown;
  };
}

/** What is wrong with a conversation; empty when nothing is. */
export function schemaProblems(conversation: readonly Sent[]): string[] {
  const asked = new Map<string, string>();
  return conversation.flatMap(({ from, message }, index) => {
    const { id, method, params, result, error } = message;
    const other = from === 'client' ? 'agent' : 'client';
    const at = `message ${index} of the ${from}`;
    if (message.jsonrpc !== '2.0') return [`${at} is no JSON-RPC`];
    if (method !== undefined) {
      if (id !== undefined) asked.set(`${from} ${id}`, method);
      const known = METHODS.get(method)?.sent;
      return known === undefined ? [`${at}: unknown method ${method}`] : misfits(known, params, `${at}, ${method}`);
    }
    if (error !== undefined) return misfits('Error', error, `${at}, an error`);
    const answers = asked.get(`${other} ${id}`);
    const known = answers === undefined ? undefined : METHODS.get(answers)?.answered;
    return known === undefined ? [`${at} answers nothing`] : misfits(known, result, `${at}, answering ${answers}`);
  });
}

function misfits(name: string, value: unknown, where: string): string[] {
  const check = ajv.getSchema(`acp#/$defs/${name}`);
  if (!check) return [`there is no schema ${name}`];
  if (check(value)) return [];
  return [`${where}: ${JSON.stringify(value)} is no ${name}: ${ajv.errorsText(check.errors)}`];
}
