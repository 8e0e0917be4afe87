import type { DurableEvent, PendingCall, TreadleEvent } from '../events/events.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Tool, ToolTypes } from '../tools/tool.ts';

/** What the type checker knows of an agent. Runs and sessions take it over. */
export interface AgentTypes {
  /** The value of a completed run: the agent's own, or that of one it hands over to. */
  readonly output: unknown;
  /** A union of the types of its tools, and of those of the agents that it hands over to. */
  readonly tools: ToolTypes;
}

type OwnTypes<Tools extends readonly Tool[]> = NonNullable<Tools[number]['~types']>;
/** The types of the agents that these tools hand over to. */
export type HandedTo<Tools extends readonly Tool[]> = TargetOf<OwnTypes<Tools>>;
type TargetOf<One extends ToolTypes> = One extends ToolTypes ? Extract<One['handsTo'], AgentTypes> : never;

/** What the tools of an agent want as `context`; unknown when none of them says. */
export type ContextOf<Types extends AgentTypes> = Types['tools'] extends infer One
  ? (One extends ToolTypes ? (context: One['context']) => void : never) extends (context: infer All) => void
    ? All
    : never
  : never;

/** The name, arguments and details of a call, as the tool's types say. */
type Call<One extends ToolTypes, Event> = Known<true> & {
  readonly toolName: One['name'];
} & ('arguments' extends keyof Event ? { readonly arguments: One['input'] & JsonObject } : unknown) &
  ('details' extends keyof Event ? { readonly details?: One['details'] & JsonValue } : unknown);

/** Keeps the type checker from dropping a typed member as a special case of the untyped one. No value has it. */
// An alias, so that declarations spell it out.
type Known<Is> = Readonly<Partial<Record<'~known', Is>>>;

/** One member for each tool that the types know by name. */
type Typed<Types extends ToolTypes, Event> = Types extends ToolTypes
  ? string extends Types['name']
    ? never
    : Omit<Event, 'toolName' | 'arguments' | 'details'> & Call<Types, Event>
  : never;

type ToolEvent = Extract<
  DurableEvent,
  { readonly type: 'tool_started' | 'tool_ended' | 'approval_requested' | 'tool_call_rejected' }
>;

type Untyped<Of> = Of extends { readonly toolName: string } ? Of & Known<never> : Of;

type WithUntyped<Those, All> = [Those] extends [never] ? All : Those | Untyped<All>;

type TypedEvents<Types extends ToolTypes, Event> = Event extends ToolEvent ? Typed<Types, Event> : never;

/**
 * The events of a run: those about calls once for each known tool, typed by it, and once untyped for tools that the types
 * don't know. `isCallOf` tells them apart.
 */
export type EventOf<Types extends AgentTypes> = WithUntyped<TypedEvents<Types['tools'], ToolEvent>, TreadleEvent>;

type TypedPending<Types extends ToolTypes, Item> = Item extends PendingCall ? Typed<Types, Item> : never;

/** What a session waits for: each kind once for each known tool, and once untyped. */
export type PendingOf<Types extends AgentTypes> = WithUntyped<TypedPending<Types['tools'], PendingCall>, PendingCall>;

/**
 * Whether an event, or something that is waited for, is about a call of this tool. Its arguments and details are typed then.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, defineTool, isCallOf } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Adds.',
 *   inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
 *   execute: ({ a, b }) => ({ sum: a + b }),
 * });
 * const model = scriptedModel([{ toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }] }, 'Five.']);
 * const session = await createSession(defineAgent({ model, tools: [add] }));
 * for await (const event of session.prompt('What is 2 + 3?')) {
 *   if (event.type === 'tool_ended' && isCallOf(event, 'add')) console.log(event.details?.sum); // 5
 * }
 * ```
 */
export function isCallOf<Of extends { readonly toolName: string }, const Name extends Of['toolName']>(
  call: Of,
  toolName: Name,
): call is Extract<Of, { readonly toolName: Name }> {
  return call.toolName === toolName;
}
