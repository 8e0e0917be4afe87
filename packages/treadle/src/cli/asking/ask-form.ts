import type { JsonObject, JsonValue, PendingCall } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import type { ApprovalQuestion, TypedAnswer } from './ask-permission.ts';
import type { Asking } from './ask-user.ts';
import { exactLine } from './plain-text.ts';

/**
 * Puts a question of a running call to the user: a form is filled in line by line, anything else takes a yes or a no. Null
 * when the run is to end; Ctrl-D is a no.
 */
export async function askForm(
  call: PendingCall,
  question: ApprovalQuestion,
  { terminal, out, stopped, isStopped }: Asking,
): Promise<TypedAnswer | null> {
  out.endLine();
  out.print(`\n${exactLine(question.question)}\n`);
  const ask = async (text: string): Promise<string | null> => (await terminal.ask(text, stopped))?.trim() ?? null;
  const ended = (): TypedAnswer | null => (isStopped() ? null : { decision: 'reject', said: {} });
  const { requestedSchema: schema } = call.arguments;
  if (schema === undefined || !isJsonObject(schema)) {
    const answer = await ask('[y/n] ');
    if (answer === null) return ended();
    return { decision: /^y(es)?$/i.test(answer) ? 'approve' : 'reject', said: {} };
  }
  out.print('Fill it in, line by line. An empty line takes what stands in brackets; n at the end sends nothing.\n');
  const filled: Record<string, JsonValue> = {};
  for (const [name, field] of fieldsOf(schema)) {
    const answer = await ask(`${exactLine(labelOf(name, field))} `);
    if (answer === null) return ended();
    if (answer !== '') filled[name] = valueOf(answer, field);
  }
  const sure = await ask('Send it? [y/n] ');
  if (sure === null) return ended();
  if (!/^y(es)?$/i.test(sure)) return { decision: 'reject', said: {} };
  return { decision: 'approve', said: { updatedInput: filled } };
}

const fieldsOf = ({ properties }: JsonObject): (readonly [string, JsonObject])[] =>
  Object.entries(properties !== undefined && isJsonObject(properties) ? properties : {}).map(([name, field]) => [
    name,
    field !== undefined && isJsonObject(field) ? field : {},
  ]);

function labelOf(name: string, field: JsonObject): string {
  const { default: usual } = field;
  const words = [field['title'], field['description']].flatMap((text) =>
    typeof text === 'string' && text !== '' ? [text] : [],
  );
  const choices = choicesOf(field);
  const about = [...words, ...(choices.length === 0 ? [] : [choices.join(' | ')])].join('. ');
  return `${name}${about === '' ? '' : ` (${about})`}${usual === undefined ? '' : ` [${JSON.stringify(usual)}]`}:`;
}

/** The values to choose from, of one choice or of several. */
function choicesOf(field: JsonObject): readonly string[] {
  const { items, enum: values } = field;
  if (items !== undefined && isJsonObject(items)) return choicesOf(items);
  if (Array.isArray(values)) return (values as readonly JsonValue[]).map((value) => JSON.stringify(value));
  const titled = field['oneOf'] ?? field['anyOf'];
  if (!Array.isArray(titled)) return [];
  return (titled as readonly JsonValue[]).flatMap((each) =>
    isJsonObject(each) && typeof each['const'] === 'string' ? [each['const']] : [],
  );
}

/** What was typed, as the field wants it; what doesn't fit is sent as text, and the server's form refuses it. */
function valueOf(typed: string, { type }: JsonObject): JsonValue {
  if ((type === 'number' || type === 'integer') && Number.isFinite(Number(typed))) return Number(typed);
  if (type === 'boolean' && /^(y(es)?|true|no?|false)$/i.test(typed)) return /^(y|t)/i.test(typed);
  return type === 'array' ? typed.split(',').map((part) => part.trim()) : typed;
}
