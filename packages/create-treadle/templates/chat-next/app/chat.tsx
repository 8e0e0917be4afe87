'use client';

import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from 'ai';
import { useState } from 'react';

/** A chat with the agent. It asks before each call that needs approval. */
export function Chat({ token }: { token: string }) {
  const [transport] = useState(
    () => new DefaultChatTransport({ api: '/v1/ai-sdk/chat', headers: { authorization: `Bearer ${token}` } }),
  );
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });

  function show(part: UIMessage['parts'][number], index: number) {
    if (part.type === 'text') return <p key={index}>{part.text}</p>;
    if (!isToolUIPart(part)) return null;
    if (part.state !== 'approval-requested') return <p key={index}>[{getToolName(part)}]</p>;
    const answer = (approved: boolean) => addToolApprovalResponse({ id: part.approval.id, approved });
    return (
      <p key={index}>
        Run {getToolName(part)} {JSON.stringify(part.input)}? <button onClick={() => answer(true)}>Yes</button>{' '}
        <button onClick={() => answer(false)}>No</button>
      </p>
    );
  }

  function send(form: FormData) {
    void sendMessage({ text: String(form.get('prompt')) });
  }

  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <article key={id} className={role}>
          {parts.map(show)}
        </article>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form action={send}>
        <input name="prompt" placeholder="What is in this folder?" autoComplete="off" autoFocus required />
        <button disabled={status === 'submitted' || status === 'streaming'}>Send</button>
      </form>
    </main>
  );
}
