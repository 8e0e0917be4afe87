// A chat page of assistant-ui: a tool of the page's own, questions of the agent, and Stop.
import { HttpAgent } from '@ag-ui/client-old';
import { AssistantRuntimeProvider, useAssistantTool } from '@assistant-ui/core/react';
import { useAgUiInterrupts, useAgUiRuntime, useAgUiSubmitInterruptResponses } from '@assistant-ui/react-ag-ui';
import { useAuiState } from '@assistant-ui/store';
import { createElement as h, useState } from 'react';
import { createRoot } from 'react-dom/client';

const settings = JSON.parse(decodeURIComponent(location.hash.slice(1)));

const colourTool = {
  toolName: 'set_colour',
  description: 'Colours the page.',
  parameters: { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] },
  execute({ colour }) {
    document.body.style.background = colour;
    return `The page is ${colour}.`;
  },
};

function Thread({ runtime }) {
  const [text, setText] = useState('');
  const messages = useAuiState(({ thread }) => thread.messages);
  const isRunning = useAuiState(({ thread }) => thread.isRunning);
  const interrupts = useAgUiInterrupts();
  const submit = useAgUiSubmitInterruptResponses();
  useAssistantTool(colourTool);
  const approve = () =>
    submit(interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: { approved: true } })));
  return h(
    'main',
    { 'data-status': isRunning ? 'running' : 'ready' },
    messages.map(({ id, role, content }) =>
      h('article', { key: id, className: role }, content.map((part) => part.text ?? part.toolName).join('')),
    ),
    interrupts.length > 0 && h('button', { id: 'approve', onClick: approve }, 'Approve'),
    h('input', { value: text, onChange: (event) => setText(event.target.value) }),
    h('button', { id: 'send', onClick: () => runtime.thread.append(text) }, 'Send'),
    h('button', { id: 'stop', onClick: () => runtime.thread.cancelRun() }, 'Stop'),
  );
}

function Page() {
  const [agent] = useState(
    () =>
      new HttpAgent({
        url: `${settings.url}/v1/ag-ui${settings.query}`,
        threadId: settings.id,
        headers: { authorization: `Bearer ${settings.token}` },
      }),
  );
  const runtime = useAgUiRuntime({ agent });
  return h(AssistantRuntimeProvider, { runtime }, h(Thread, { runtime }));
}

createRoot(document.getElementById('root')).render(h(Page));
