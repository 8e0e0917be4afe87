// The page: sends requests, and shows the variants while they are written.
import { dataUrl, download, showCode } from './code.js';
import { element, isHidden, make, press } from './dom.js';
import { showFeed } from './log.js';
import { follow, listProjects, newProject, showRun, signIn } from './server.js';
import { focusCard, setCards, setDevice, showVariant } from './stage.js';
import { codeOf, createVariant, isWorking, lastRun, shownVersion, take, versionsOf } from './variant.js';

let project = null;
let variants = [];
/** The variant that is shown in large, and that the next request changes; null for all of them, and a new page. */
let focused = null;
let mode = 'preview';
let connection = null;

const say = (text, isBad = false) => {
  element('message').textContent = text;
  element('message').classList.toggle('bad', isBad);
};

function draw() {
  const variant = focused === null ? null : variants[focused];
  const code = variant ? codeOf(variant) : '';
  const isBusy = connection !== null;
  document.body.dataset.view = project === null ? 'empty' : variant ? 'one' : 'all';
  isHidden('tools', project === null);
  isHidden('welcome', project !== null);
  isHidden('modes', !variant);
  isHidden('exports', !variant || code === '');
  isHidden('code', !variant || mode !== 'code');
  element('variants').hidden = project === null || (variant !== null && mode === 'code');
  isHidden('devices', variant !== null && mode === 'code');
  if (variant && mode === 'code') showCode(code);
  drawVersions(variant);
  drawTabs();
  showFeed(variant ?? variants[0] ?? null);
  element('target').hidden = !variant;
  element('target').querySelector('span').textContent = variant ? `Changes variant ${variant.index + 1}` : '';
  element('prompt').placeholder = variant
    ? 'Make it blue, add a section…'
    : 'A landing page for a neighbourhood bakery';
  element('stack').hidden = variant !== null || isBusy;
  element('generate').textContent = variant ? 'Change' : 'Generate';
  element('generate').disabled = isBusy;
  isHidden('cancel', !isBusy || !variants.some(isWorking));
}

function drawVersions(variant) {
  const versions = variant ? versionsOf(variant) : [];
  isHidden('versions', versions.length < 2);
  if (versions.length < 2) return;
  const at = shownVersion(variant);
  const options = versions.map(({ run }, index) =>
    make('option', { value: String(index), selected: index === at, title: run.text }, `Version ${index + 1}`),
  );
  element('version').replaceChildren(...options);
  element('undo').disabled = at <= 0 || isWorking(variant);
  element('redo').disabled = at === versions.length - 1 || isWorking(variant);
  element('version').disabled = isWorking(variant);
}

function drawTabs() {
  const tabs = element('tabs');
  if (tabs.children.length !== variants.length + 1) {
    const all = make('button', { type: 'button' }, 'All');
    all.addEventListener('click', () => open(null));
    const each = variants.map(({ index }) => {
      const tab = make('button', { type: 'button' }, make('i'), String(index + 1));
      tab.setAttribute('aria-label', `Variant ${index + 1}`);
      tab.addEventListener('click', () => open(index));
      return tab;
    });
    tabs.replaceChildren(all, ...each);
  }
  for (const { index, ...variant } of variants) tabs.children[index + 1].dataset.state = lastRun(variant)?.state ?? '';
  press(tabs, tabs.children[focused === null ? 0 : focused + 1]);
}

/** Shows one variant in large, or all of them. */
function open(index, isChange = false) {
  focused = index;
  if (index === null) mode = 'preview';
  press(element('modes'), document.querySelector(`[data-mode="${mode}"]`));
  focusCard(index);
  say('');
  draw();
  if (isChange) element('prompt').focus();
}

let isDrawn = true;

/** Draws once for all messages that come together. */
function drawSoon() {
  if (!isDrawn) return;
  isDrawn = false;
  requestAnimationFrame(() => {
    isDrawn = true;
    draw();
  });
}

function receive(message) {
  const { type, variantIndex, value, data } = message;
  if (type === 'variantCount') {
    const count = Number(value);
    if (variants.length !== count) setCards(count, { open });
    variants = Array.from({ length: count }, (_, index) => createVariant(index));
    focusCard(focused);
    say('');
  } else if (type === 'variantModels') {
    for (const [index, model] of data.models.entries()) variants[index].model = model;
    if (data.models.every((model) => model.startsWith('demo/'))) {
      say('Demo models write: no provider has a key.');
    }
  } else if (type === 'error') {
    say(value, true);
  } else if (variants[variantIndex]) {
    take(variants[variantIndex], message);
    showVariant(variants[variantIndex]);
  }
  drawSoon();
}

function send(message) {
  connection?.leave();
  connection = follow(message, {
    receive,
    lost: () => say('The connection broke off. Trying again…', true),
    ended() {
      connection = null;
      draw();
      void refreshRecent();
    },
  });
  draw();
}

async function generate() {
  const text = element('prompt').value.trim();
  const [file] = element('image').files;
  const prompt = { text, images: file ? [await dataUrl(file)] : [], videos: [] };
  say('');
  if (focused === null) {
    project = newProject();
    history.pushState({ project }, '');
    variants = [];
    setCards(0, { open });
    const stack = element('stack').value;
    send({ project, prompt, generatedCodeConfig: stack, inputMode: file ? 'image' : 'text', generationType: 'create' });
  } else {
    mode = 'preview';
    press(element('modes'), document.querySelector('[data-mode="preview"]'));
    send({ action: 'change', project, variant: focused, prompt });
  }
  element('prompt').value = '';
  detach();
}

/** Shows a project that the server has; null for the beginning of a new one. */
function show(id) {
  connection?.leave();
  connection = null;
  project = id;
  variants = [];
  focused = null;
  mode = 'preview';
  setCards(0, { open });
  say('');
  element('recent').open = false;
  if (id !== null) send({ action: 'join', project: id });
  draw();
}

async function goTo(version) {
  const variant = variants[focused];
  const { number } = versionsOf(variant)[version];
  await showRun(project, focused, number);
  variant.shown = number;
  showVariant(variant);
  draw();
}

async function refreshRecent() {
  const projects = (await listProjects()) ?? [];
  isHidden('recent', projects.length === 0);
  const items = projects.map(({ id, title }) => {
    const button = make('button', { type: 'button', title }, title);
    button.addEventListener('click', () => {
      history.pushState({ project: id }, '');
      show(id);
    });
    return make('li', {}, button);
  });
  element('projects').replaceChildren(...items);
}

function detach() {
  element('image').value = '';
  isHidden('attached', true);
  element('prompt').required = true;
}

const failed = (error) => say(error instanceof TypeError ? 'The server can not be reached.' : error.message, true);
const on = (id, event, listener) => element(id).addEventListener(event, listener);

on('request', 'submit', (event) => {
  event.preventDefault();
  if (!element('generate').disabled) generate().catch(failed);
});
on('prompt', 'keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  element('request').requestSubmit();
});
on('cancel', 'click', () => connection?.cancel());
on('new', 'click', () => {
  history.pushState({}, '');
  show(null);
  element('prompt').focus();
});
on('image', 'change', () => {
  const [file] = element('image').files;
  if (!file) return;
  element('attached').querySelector('img').src = URL.createObjectURL(file);
  isHidden('attached', false);
  element('prompt').required = false;
});
element('attached').querySelector('button').addEventListener('click', detach);
element('target')
  .querySelector('button')
  .addEventListener('click', () => open(null));
for (const button of element('welcome').querySelectorAll('button')) {
  button.addEventListener('click', () => {
    element('prompt').value = button.textContent;
    element('prompt').focus();
  });
}
on('devices', 'click', ({ target }) => {
  if (!target.dataset.device) return;
  press(element('devices'), target);
  setDevice(target.dataset.device);
});
on('modes', 'click', ({ target }) => {
  if (!target.dataset.mode) return;
  mode = target.dataset.mode;
  press(element('modes'), target);
  draw();
  focusCard(focused);
});
on('undo', 'click', () => void goTo(shownVersion(variants[focused]) - 1).catch(failed));
on('redo', 'click', () => void goTo(shownVersion(variants[focused]) + 1).catch(failed));
on('version', 'change', ({ target }) => void goTo(Number(target.value)).catch(failed));
on('copy', 'click', async () => {
  await navigator.clipboard.writeText(codeOf(variants[focused]));
  element('copy').textContent = 'Copied';
  setTimeout(() => (element('copy').textContent = 'Copy'), 1500);
});
on('download', 'click', () => void download(codeOf(variants[focused]), 'index.html').catch(failed));
on('login', 'submit', async (event) => {
  event.preventDefault();
  const isIn = await signIn(element('token').value).catch(() => null);
  const problem = isIn === null ? 'The server can not be reached.' : 'That is not the token of this server.';
  element('login').querySelector('[role=alert]').textContent = isIn ? '' : problem;
  if (isIn) await start();
});
addEventListener('popstate', () => show(history.state?.project ?? null));

async function start() {
  const projects = await listProjects();
  isHidden('login', projects !== null);
  element('token').value = '';
  if (projects === null) {
    element('token').focus();
    return;
  }
  await refreshRecent();
  show(history.state?.project ?? null);
  element('prompt').focus();
}

start().catch(failed);
