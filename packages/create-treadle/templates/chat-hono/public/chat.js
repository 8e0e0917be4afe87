// @ts-check
import { createClient } from '@treadle/client';

const token = document.querySelector('meta[name=token]')?.getAttribute('content') ?? '';
const client = createClient({ url: location.origin, token });
const session = await client.createSession();

const messages = /** @type {HTMLElement} */ (document.querySelector('#messages'));
const form = /** @type {HTMLFormElement} */ (document.querySelector('#form'));
const input = /** @type {HTMLInputElement} */ (document.querySelector('#prompt'));

/** @param {string} kind @param {string} text */
function add(kind, text) {
  const element = document.createElement('div');
  element.className = `message ${kind}`;
  element.textContent = text;
  messages.append(element);
  return element;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const prompt = input.value;
  form.reset();
  add('user', prompt);
  /** @type {HTMLElement | null} */
  let reply = null;
  try {
    await session.run(prompt, {
      approve: (call) => ({
        decision: confirm(`Run ${call.toolName} ${JSON.stringify(call.arguments)}?`) ? 'approve' : 'reject',
      }),
      onEvent: (event) => {
        if (event.type === 'message_delta' && event.kind === 'text')
          (reply ??= add('assistant', '')).append(event.text);
        if (event.type === 'message_added') reply = null;
        if (event.type === 'tool_started') add('tool', event.toolName);
      },
    });
  } catch (error) {
    add('tool', String(error));
  }
});
