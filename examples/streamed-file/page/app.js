// The page: sends one request over a WebSocket and shows the variants while they are written.

/** Closes a socket so that the server cancels what it makes. */
const CANCELLED = 4333;

const element = (id) => document.getElementById(id);

let socket = null;
let variants = [];
/** The variant that the next request is to change; null for a new page. */
let chosen = null;

function addVariant(index) {
  const card = element('variant').content.cloneNode(true).firstElementChild;
  const variant = {
    card,
    code: '',
    done: false,
    complete: false,
    ready: false,
    entries: new Map(),
    frame: card.querySelector('iframe'),
  };
  card.dataset.index = String(index);
  card.querySelector('h2').textContent = `Variant ${index + 1}`;
  // Until its frame has loaded, nobody there would hear of a page.
  variant.frame.addEventListener('load', () => {
    variant.ready = true;
    show(variant);
  });
  card.querySelector('.update').addEventListener('click', () => choose(index));
  element('variants').append(card);
  return variant;
}

function choose(index) {
  chosen = variants[index];
  for (const variant of variants) variant.card.classList.toggle('chosen', variant === chosen);
  element('message').textContent = `What you ask for next changes variant ${index + 1}.`;
  element('prompt').value = '';
  element('prompt').focus();
}

/** What can be shown of a page that is half written: no half tag at its end, and nothing before there is a body. */
function showable(code, complete) {
  if (complete) return code;
  if (!/<body[\s>]/i.test(code) && /<(?:html|head)[\s>]/i.test(code)) return null;
  return code.lastIndexOf('<') > code.lastIndexOf('>') ? code.slice(0, code.lastIndexOf('<')) : code;
}

function show(variant) {
  const html = showable(variant.code, variant.complete);
  // The frame's origin is one that has no name.
  if (variant.ready && html) variant.frame.contentWindow.postMessage({ html, final: variant.complete }, '*');
}

function log(variant, id, text, append) {
  let entry = variant.entries.get(id);
  if (!entry) {
    entry = document.createElement('li');
    variant.entries.set(id, entry);
    variant.card.querySelector('.log').append(entry);
  }
  entry.textContent = append ? entry.textContent + text : text;
}

function setStatus(variant, text) {
  variant.card.querySelector('.status').textContent = text;
}

function finish(variant, state, text) {
  variant.done = true;
  // What has broken off is still half written.
  variant.complete = state === 'complete';
  variant.card.dataset.state = state;
  setStatus(variant, text);
  show(variant);
  // Each can be used as soon as it is there, whatever the others do.
  variant.card.querySelector('.update').disabled = variant.code === '';
}

function receive({ type, variantIndex, value, data, eventId }) {
  if (type === 'variantCount') {
    element('variants').replaceChildren();
    variants = Array.from({ length: Number(value) }, (_, index) => addVariant(index));
    return;
  }
  if (type === 'error') {
    element('message').textContent = value;
    return;
  }
  if (type === 'variantModels') {
    for (const [index, model] of data.models.entries()) {
      variants[index].card.querySelector('h2').textContent = `Variant ${index + 1}: ${model}`;
    }
    const isDemo = data.models.every((model) => model.startsWith('demo/'));
    if (isDemo)
      element('message').textContent = 'No provider has a key: the demo model writes, a script and no language model.';
    return;
  }
  const variant = variants[variantIndex];
  if (!variant) return;
  if (type === 'status') setStatus(variant, value);
  if (type === 'setCode') variant.code = value;
  if (type === 'chunk') variant.code += value;
  if (type === 'setCode' || type === 'chunk') show(variant);
  if (type === 'assistant' || type === 'thinking') log(variant, eventId, value, true);
  if (type === 'toolStart') log(variant, eventId, `${data.name} …`, false);
  if (type === 'toolResult') log(variant, eventId, `${data.name}: ${data.ok ? 'done' : 'failed'}`, false);
  if (type === 'variantComplete') finish(variant, 'complete', 'Complete');
  if (type === 'variantError') finish(variant, 'error', value);
}

async function requestOf() {
  const text = element('prompt').value;
  const [file] = element('image').files;
  const images = file ? [await dataUrl(file)] : [];
  const request = {
    generatedCodeConfig: element('stack').value,
    inputMode: file ? 'image' : 'text',
    generationType: chosen ? 'update' : 'create',
    prompt: { text, images, videos: [] },
  };
  if (!chosen) return request;
  return {
    ...request,
    fileState: { path: 'index.html', content: chosen.code },
    optionCodes: variants.map(({ code }) => code),
  };
}

const dataUrl = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result));
    reader.addEventListener('error', () => reject(new Error('The file can not be read.')));
    reader.readAsDataURL(file);
  });

/** The token goes beside the protocol's name: browsers send no headers with a WebSocket, and addresses end up in logs. */
function protocolsWith(token) {
  const bytes = String.fromCharCode(...new TextEncoder().encode(token));
  const encoded = btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return ['treadle.v1', `treadle.token.${encoded}`];
}

element('request').addEventListener('submit', (event) => {
  event.preventDefault();
  generate().catch((error) => {
    element('message').textContent = error.message;
  });
});

async function generate() {
  const request = await requestOf();
  chosen = null;
  element('message').textContent = '';
  element('generate').disabled = true;
  element('cancel').disabled = false;
  const address = new URL('/generate-code', location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  socket = new WebSocket(address, protocolsWith(element('token').value));
  let opened = false;
  socket.addEventListener('open', () => {
    opened = true;
    socket.send(JSON.stringify(request));
  });
  socket.addEventListener('message', ({ data }) => receive(JSON.parse(data)));
  socket.addEventListener('close', ({ code }) => {
    if (!opened) element('message').textContent = 'The server did not let us in. Is the token right?';
    for (const variant of variants.filter(({ done }) => !done)) {
      finish(variant, 'cancelled', code === CANCELLED ? 'Cancelled' : 'The connection broke off');
    }
    element('generate').disabled = false;
    element('cancel').disabled = true;
  });
}

element('cancel').addEventListener('click', () => socket?.close(CANCELLED, 'cancelled'));
