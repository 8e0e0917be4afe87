// A chat page as the documentation of the AI SDK has it: typed tool parts, client tools that dynamic calls are kept from.
import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai';
import { createElement as h, useState } from 'react';
import { createRoot } from 'react-dom/client';

const settings = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const kept = `messages of ${settings.id}`;

function Part({ part, approve }) {
  switch (part.type) {
    case 'text':
      return h('span', null, part.text);
    case 'tool-locate':
      return h('i', { className: 'locate' }, `${part.state} ${part.output ?? ''}`);
    case 'tool-buy':
      return h(
        'i',
        { className: 'buy' },
        `${part.state} ${part.output ?? ''}`,
        part.state === 'approval-requested' &&
          h('button', { id: 'approve', onClick: () => approve({ id: part.approval.id, approved: true }) }, 'Approve'),
      );
    default:
      return null;
  }
}

function Page() {
  const [text, setText] = useState('');
  const [options] = useState(() => ({
    id: settings.id,
    resume: settings.resume,
    messages: JSON.parse(localStorage.getItem(kept) ?? '[]'),
    transport: new DefaultChatTransport({
      api: `${settings.url}/v1/ai-sdk/chat${settings.query}`,
      headers: { authorization: `Bearer ${settings.token}` },
      prepareReconnectToStreamRequest: ({ id, headers }) => ({
        api: `${settings.url}/v1/ai-sdk/chat/${id}/stream`,
        headers,
      }),
    }),
  }));
  const chat = useChat({
    ...options,
    sendAutomaticallyWhen: (state) =>
      lastAssistantMessageIsCompleteWithToolCalls(state) || lastAssistantMessageIsCompleteWithApprovalResponses(state),
    onToolCall({ toolCall }) {
      if (toolCall.dynamic) return;
      if (toolCall.toolName === 'locate')
        void chat.addToolOutput({ tool: 'locate', toolCallId: toolCall.toolCallId, output: '59.9, 10.7' });
    },
    // What an application keeps in its database: whole messages.
    onFinish: ({ messages }) => localStorage.setItem(kept, JSON.stringify(messages)),
  });
  const { messages, status, error, sendMessage, stop, regenerate, addToolApprovalResponse } = chat;
  const send = (messageId) => {
    if (messageId === undefined) {
      const said = { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] };
      localStorage.setItem(kept, JSON.stringify([...messages, said]));
      void sendMessage(said);
    } else void sendMessage({ text, messageId });
    setText('');
  };
  return h(
    'main',
    { 'data-status': status },
    h('p', { id: 'error' }, error?.message ?? ''),
    ...messages.map(({ id, role, parts }) =>
      h(
        'article',
        { key: id, 'data-role': role },
        ...parts.map((part, at) => h(Part, { key: at, part, approve: addToolApprovalResponse })),
        role === 'user' && h('button', { className: 'edit', onClick: () => send(id) }, 'Edit'),
      ),
    ),
    h('input', { value: text, onChange: ({ target }) => setText(target.value) }),
    h('button', { id: 'send', onClick: () => send() }, 'Send'),
    h('button', { id: 'stop', onClick: () => stop() }, 'Stop'),
    h('button', { id: 'again', onClick: () => regenerate() }, 'Again'),
  );
}

createRoot(document.getElementById('root')).render(h(Page));
