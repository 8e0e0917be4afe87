import { AbstractChat, type ChatState, type ChatTransport, type UIMessage } from 'ai';

/** The state of a chat as a user interface without a framework keeps it. */
function chatState(): ChatState<UIMessage> {
  return {
    status: 'ready',
    error: undefined,
    messages: [],
    pushMessage(message) {
      this.messages = [...this.messages, message];
    },
    popMessage() {
      this.messages = this.messages.slice(0, -1);
    },
    replaceMessage(index, message) {
      this.messages = this.messages.with(index, message);
    },
    snapshot: (value) => structuredClone(value),
  };
}

class Chat extends AbstractChat<UIMessage> {}

/** A chat of the AI SDK, as its packages for user interfaces make one. */
export const createChat = (transport: ChatTransport<UIMessage>, id?: string): AbstractChat<UIMessage> =>
  new Chat({ state: chatState(), transport, ...(id === undefined ? {} : { id }) });
