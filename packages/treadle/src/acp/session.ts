import {
  methods,
  RequestError,
  type ContentBlock,
  type CreateElicitationRequest,
  type PromptResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import {
  createSession,
  errorText,
  openSession,
  type ClientToolResult,
  type PendingCall,
  type Run,
  type RunResult,
  type Session,
  type TreadleEvent,
} from '@treadle/core';
import { isDurable, type PendingApproval, type PendingQuestion } from '@treadle/core/events';
import { readBlob } from '@treadle/core/ports';
import { ASK_USER_TOOL, nobodyToAsk } from '@treadle/core/tools';

import { available, commandOf, messagesOf, OWN_COMMANDS, type CommandPrompt, type SlashCommand } from './commands.ts';
import { promptContent } from './content.ts';
import type { AcpHost, ClientLink, OpenRequest, Place } from './host.ts';
import { permissionAnswer, permissionRequest, type Answer } from './permissions.ts';
import { MOST_SHOWN, shownText, textOf } from './file-text.ts';
import { callForm, formAnswer, userForm, userResult } from './questions.ts';
import { configOptions, modeState, thinkingLevel, withOption, type Chosen } from './settings.ts';
import { STOP_REASONS } from './stop-reason.ts';
import { LATEST, sessionUpdates, type Updates } from './updates.ts';

/** One session of a client: a session of ours, and what its client knows of it. */
export class EditorSession {
  readonly id: string;
  readonly #host: AcpHost;
  readonly #client: ClientLink;
  readonly #place: Place;
  #session: Session;
  #chosen: Chosen;
  /** Of the agent that the session is opened with. */
  #opened: Pick<Chosen, 'model' | 'thinking'>;
  readonly #updates: Updates;
  #commands: readonly SlashCommand[] = OWN_COMMANDS;
  /** The prompt that is under way. */
  #turn: (AbortController & { readonly done: Promise<void> }) | null = null;

  private constructor(host: AcpHost, request: OpenRequest, place: Place, session: Session, chosen: Chosen) {
    this.id = request.sessionId;
    this.#host = host;
    this.#client = request.client;
    this.#place = place;
    this.#session = session;
    this.#chosen = chosen;
    this.#opened = chosen;
    this.#updates = sessionUpdates({
      folder: place.folder,
      client: request.client.capabilities,
      label: (name) => this.#session.agent.tools.get(name)?.label,
      contextWindow: () => this.#session.agent.model.contextWindow,
    });
  }

  /** Begins a session. */
  static async create(host: AcpHost, request: OpenRequest): Promise<EditorSession> {
    const place = await host.place(request);
    const { defaults } = place;
    const agent = await place.agent(defaults);
    const { journal, blobs, owner } = host;
    const session = await createSession(agent, { id: request.sessionId, journal, blobs, owner });
    const opened = new EditorSession(host, request, place, session, defaults);
    await opened.#catchUp(false);
    return opened;
  }

  /** Goes on with a session. With `replay` the client is told what happened in it. */
  static async open(host: AcpHost, request: OpenRequest, replay: boolean): Promise<EditorSession> {
    const place = await host.place(request);
    const { journal, blobs, owner } = host;
    const { defaults } = place;
    const session = await openSession(await place.agent(defaults), request.sessionId, { journal, blobs, owner });
    const opened = new EditorSession(host, request, place, session, defaults);
    await opened.#catchUp(replay, true);
    await opened.#restore();
    return opened;
  }

  /** The modes and options, as the answers to `session/new` and its like have them. */
  get state() {
    const { choices } = this.#place;
    return { modes: modeState(choices, this.#chosen), configOptions: configOptions(choices, this.#chosen) };
  }

  /** Tells the client of the slash commands. */
  async announceCommands(): Promise<void> {
    this.#commands = [...OWN_COMMANDS, ...(await this.#place.commands())];
    await this.#emit([{ sessionUpdate: 'available_commands_update', availableCommands: available(this.#commands) }]);
  }

  /** Changes an option. A model and its thinking hold from the next prompt on, the mode from the next call on. */
  async set(id: string, value: unknown): Promise<void> {
    const next = withOption(this.#place.choices, this.#chosen, id, value);
    if (next === null) throw RequestError.invalidParams({ [id]: value }, `there is no ${id} ${JSON.stringify(value)}`);
    // One that can't be asked is said now.
    if (next.model !== this.#chosen.model) await this.#place.agent(next);
    if (next.mode === this.#chosen.mode) {
      this.#chosen = next;
      return;
    }
    await this.#session.updatePermissions([{ type: 'setMode', mode: next.mode, destination: 'session' }]);
    if (this.#turn === null) await this.#catchUp(true);
  }

  /** Ends the prompt that is under way. */
  async cancel(): Promise<void> {
    this.#turn?.abort();
    if (this.#session.activeRun !== null) await this.#session.abort('The client cancelled the prompt.');
  }

  /** Ends what is under way, and lets go of the session. */
  async close(): Promise<void> {
    await this.cancel();
    await this.#turn?.done;
    await this.leave();
  }

  /** Lets go of the session, whose client is gone. A run that is driven ends; one that waits for an answer goes on waiting. */
  async leave(): Promise<void> {
    await this.#session.close({ abort: this.#session.activeRun !== null, reason: 'prompt_input_exit' });
    await this.#place.close();
  }

  /** Answers a prompt, once all that came of it has been told. */
  async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    if (this.#turn !== null) throw RequestError.invalidRequest(undefined, 'a prompt of this session is under way');
    const over = Promise.withResolvers<void>();
    const turn = Object.assign(new AbortController(), { done: over.promise });
    this.#turn = turn;
    const cancelled = (): void => {
      // A connection that closes takes nothing back: what waits for an answer goes on waiting.
      if (isTakenBack(signal)) this.cancel().catch((error: unknown) => this.#host.note(errorText(error)));
    };
    signal.addEventListener('abort', cancelled, { once: true });
    try {
      const content = promptContent(blocks, this.#place.folder);
      await this.#reopen();
      const found = commandOf(this.#commands, content);
      const made = found ? await this.#command(found.command, found.words) : { prompt: content };
      const result = 'text' in made ? null : await this.#work(made.prompt, turn.signal);
      if ('text' in made) await this.#say(made.text);
      await this.#catchUp(true);
      void this.#later();
      if (isTakenBack(signal)) throw RequestError.requestCancelled();
      return { stopReason: result === null ? 'end_turn' : stopReason(result) };
    } finally {
      signal.removeEventListener('abort', cancelled);
      this.#turn = null;
      over.resolve();
    }
  }

  async #command(command: SlashCommand, words: string): ReturnType<SlashCommand['run']> {
    try {
      return await command.run(words, this.#session);
    } catch (error) {
      return { text: errorText(error) };
    }
  }

  /** Drives the session until nothing is left to do, through all that its client is asked. */
  async #work(input: CommandPrompt, signal: AbortSignal): Promise<RunResult | 'cancelled'> {
    let run = await this.#begin(input);
    for (;;) {
      const result = run ? await this.#follow(run) : null;
      if (result && result.status !== 'paused') return result;
      const goOn = signal.aborted ? null : await this.#answered(result?.pending ?? this.#session.pending, signal);
      if (goOn === null) {
        await this.#session.abort('The client cancelled the prompt.');
        return 'cancelled';
      }
      run = goOn();
    }
  }

  /** Null where an earlier run waits for an answer: it is asked for again, and the prompt is told to the model after it. */
  async #begin(input: CommandPrompt): Promise<Run | null> {
    const session = this.#session;
    if (session.status === 'idle') return session.prompt(input);
    for (const message of messagesOf(input)) await session.steer(message);
    return session.canResume ? session.resume() : null;
  }

  /** Tells the client of a run's events as they come. */
  async #follow(run: Run): Promise<RunResult> {
    for await (const event of run) await this.#tell(event);
    return run.result;
  }

  /** How a paused run goes on, once its client has answered; null when the prompt is cancelled. */
  async #answered(pending: readonly PendingCall[], signal: AbortSignal): Promise<(() => Run) | null> {
    if (pending.length === 0)
      throw RequestError.invalidRequest(undefined, 'another process is at work on this session: wait for it');
    const call = pending.find((each) => each.type !== 'client_tool');
    if (call) {
      const answer =
        call.type === 'question' ? await this.#question(call, signal) : await this.#permission(call, signal);
      return answer && (() => this.#session[answer.decision](call.approvalId, answer.said));
    }
    const results: ClientToolResult[] = [];
    for (const each of pending) {
      if (each.type !== 'client_tool') continue;
      const form = each.toolName === ASK_USER_TOOL && this.#canFill ? userForm(this.id, each) : null;
      const response = form && (await this.#asked(() => this.#elicit(form, signal), signal));
      if (signal.aborted || response?.action === 'cancel') return null;
      results.push(each.toolName === ASK_USER_TOOL ? userResult(each, response) : nobodyToAsk(each));
    }
    return () => this.#session.addToolOutputs(results);
  }

  async #permission(call: PendingApproval | PendingQuestion, signal: AbortSignal): Promise<Answer | null> {
    const about = call.toolName === 'bash' ? await this.#place.aboutCommands() : null;
    const label = (name: string): string | undefined => this.#session.agent.tools.get(name)?.label;
    const { folder } = this.#place;
    const before = call.toolName === 'write_file' ? await textOf(folder, call.arguments['path']) : undefined;
    const request = permissionRequest(this.id, call, { folder, label }, { about, before });
    const ask = () => this.#client.context.request(methods.client.session.requestPermission, request, stopping(signal));
    const response = await this.#asked(ask, signal);
    if (signal.aborted) return null;
    return response ? permissionAnswer(response.outcome, call) : NOT_ASKED;
  }

  async #question(call: PendingQuestion, signal: AbortSignal): Promise<Answer | null> {
    const form = callForm(this.id, call);
    if (form === null) return this.#permission(call, signal);
    if (!this.#canFill) return NOT_ASKED;
    const response = await this.#asked(() => this.#elicit(form, signal), signal);
    if (signal.aborted) return null;
    return response ? formAnswer(response) : NOT_ASKED;
  }

  get #canFill(): boolean {
    return Boolean(this.#client.capabilities.elicitation?.form);
  }

  #elicit(form: CreateElicitationRequest, signal: AbortSignal) {
    return this.#client.context.request(methods.client.elicitation.create, form, stopping(signal));
  }

  /** Null where the client refuses to ask. A client that is gone leaves the question open: it is asked again one day. */
  async #asked<Response>(ask: () => Promise<Response>, signal: AbortSignal): Promise<Response | null> {
    try {
      return await ask();
    } catch (error) {
      if (!signal.aborted && !(error instanceof RequestError)) throw error;
      return null;
    }
  }

  /** Takes the model and the thinking that were chosen. */
  async #reopen(): Promise<void> {
    const { model, thinking } = this.#chosen;
    if (model === this.#opened.model && thinking === this.#opened.thinking) return;
    const agent = await this.#place.agent(this.#chosen);
    await this.#session.close();
    const { journal, blobs, owner } = this.#host;
    this.#session = await openSession(agent, this.id, { journal, blobs, owner });
    this.#opened = { model, thinking };
  }

  /** Takes from the log how the session ran. A model that can't be asked here any more is left to the past. */
  async #restore(): Promise<void> {
    const { model, thinking } = this.#updates.settings;
    if (model === undefined) return;
    const wanted = { ...this.#chosen, model, thinking: thinkingLevel(thinking) };
    try {
      await this.#place.agent(wanted);
      this.#chosen = wanted;
    } catch (error) {
      this.#host.note(`${errorText(error)} The session goes on with ${this.#chosen.model}.`);
    }
  }

  /** A title that a model is asked for comes after the run. */
  async #later(): Promise<void> {
    try {
      await this.#session.settled();
      if (this.#turn === null) await this.#catchUp(true);
    } catch (error) {
      this.#host.note(errorText(error));
    }
  }

  /** Takes in what the log has and nobody has been told yet. A history has only the last of what replaces itself. */
  async #catchUp(isTold: boolean, isHistory = false): Promise<void> {
    const last = new Map<string, SessionUpdate>();
    for await (const event of this.#host.journal.read(this.id, this.#updates.seq + 1)) {
      const updates = await this.#taken(event);
      if (!isTold) continue;
      for (const update of updates) {
        if (isHistory && LATEST.has(update.sessionUpdate)) last.set(update.sessionUpdate, update);
        else await this.#emit([update], isHistory);
      }
    }
    await this.#emit([...last.values()]);
  }

  async #tell(event: TreadleEvent): Promise<void> {
    if (isDurable(event) && event.seq <= this.#updates.seq) return;
    await this.#emit(await this.#taken(event));
  }

  async #taken(event: TreadleEvent): Promise<SessionUpdate[]> {
    const updates =
      event.type === 'file_checkpointed'
        ? this.#updates.take(event, await this.#before(event.before))
        : this.#updates.take(event);
    const { mode } = this.#updates.settings;
    if (mode !== undefined) this.#chosen = { ...this.#chosen, mode };
    return updates;
  }

  /** What a file held before a change; undefined for what can't be shown. */
  async #before(
    blob: { readonly id: string; readonly size: number } | null | undefined,
  ): Promise<string | null | undefined> {
    if (blob === null) return null;
    if (blob === undefined || blob.size > MOST_SHOWN) return undefined;
    try {
      return shownText(await readBlob(this.#host.blobs, blob.id));
    } catch {
      return undefined;
    }
  }

  /** The client has its own prompts: only a history has them too. */
  async #emit(updates: readonly SessionUpdate[], isHistory = false): Promise<void> {
    for (const update of updates) {
      if (update.sessionUpdate === 'user_message_chunk' && !isHistory) continue;
      await this.#client.context.notify(methods.client.session.update, { sessionId: this.id, update });
      if (update.sessionUpdate === 'current_mode_update') {
        const { configOptions: options } = this.state;
        const changed: SessionUpdate = { sessionUpdate: 'config_option_update', configOptions: options };
        await this.#client.context.notify(methods.client.session.update, { sessionId: this.id, update: changed });
      }
    }
  }

  #say(text: string): Promise<void> {
    return this.#emit([{ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }]);
  }
}

const NOT_ASKED: Answer = { decision: 'reject', said: { message: 'The user could not be asked.' } };

const CANCELLED = -32_800;

/** Whether the client has cancelled the request. */
const isTakenBack = ({ reason }: AbortSignal): boolean => reason instanceof RequestError && reason.code === CANCELLED;

const stopping = (cancellationSignal: AbortSignal) => ({ cancellationSignal, stopWaitingOnCancel: true });

/** @throws RequestError for a model that failed: the protocol has no other word for it. */
function stopReason(result: RunResult | 'cancelled'): PromptResponse['stopReason'] {
  if (result === 'cancelled') return 'cancelled';
  const reason = result.status === 'paused' ? 'end_turn' : STOP_REASONS[result.status];
  if (reason !== null) return reason;
  const { kind, status, code } = result.error ?? {};
  throw new RequestError(-32_603, result.message ?? 'The model failed.', { kind, status, code });
}
