// The previews: one card for each variant, as wide as the device that is chosen and scaled to its place.
import { element } from './dom.js';
import { codeOf, isWorking, lastRun, statusOf } from './variant.js';

const DEVICES = { desktop: [1280, 800], tablet: [834, 1112], phone: [390, 844] };
const BAR = 44;
const NARROW = 820;

let device = 'desktop';
const cards = [];

export function setCards(count, { open }) {
  cards.splice(0);
  element('variants').replaceChildren();
  for (let index = 0; index < count; index += 1) cards.push(addCard(index, open));
}

function addCard(index, open) {
  const root = element('variant').content.cloneNode(true).firstElementChild;
  const card = { root, frame: root.querySelector('iframe'), isReady: false, sent: '', last: null };
  root.dataset.index = String(index);
  root.querySelector('h2').textContent = `Variant ${index + 1}`;
  root.querySelector('.open').setAttribute('aria-label', `Open variant ${index + 1}`);
  root.querySelector('.open').addEventListener('click', () => open(index, false));
  root.querySelector('.update').addEventListener('click', () => open(index, true));
  // Until its frame has loaded, nobody there would hear of a page.
  card.frame.addEventListener('load', () => {
    card.isReady = true;
    card.sent = '';
    if (card.last) showVariant(card.last);
  });
  new ResizeObserver(() => fit(card)).observe(root);
  element('variants').append(root);
  return card;
}

/** What can be shown of a page that is half written: no half tag at its end, and nothing before there is a body. */
function showable(code, complete) {
  if (complete) return code;
  if (!/<body[\s>]/i.test(code) && /<(?:html|head)[\s>]/i.test(code)) return null;
  return code.lastIndexOf('<') > code.lastIndexOf('>') ? code.slice(0, code.lastIndexOf('<')) : code;
}

export function showVariant(variant) {
  const card = cards[variant.index];
  if (!card) return;
  card.last = variant;
  const { root } = card;
  const run = lastRun(variant);
  const code = codeOf(variant);
  const isDone = run !== undefined && !isWorking(variant);
  // What has broken off is still half written, and doesn't run.
  const isWhole = isDone && (variant.shown > 0 || run.state !== 'error');
  if (variant.model) root.querySelector('h2').title = variant.model;
  root.querySelector('h2').textContent = `${variant.index + 1}  ${variant.model.replace(/^[^/]*\//, '') || 'Variant'}`;
  root.querySelector('.status').textContent = statusOf(variant);
  root.querySelector('.update').disabled = !isDone || code === '';
  root.classList.toggle('is-empty', code === '');
  if (isDone) root.dataset.state = { complete: 'complete', unchanged: 'unchanged', error: 'error' }[run.state];
  else delete root.dataset.state;
  const failure = root.querySelector('.failure');
  failure.hidden = !(isDone && run.state === 'error' && code === '');
  failure.textContent = failure.hidden ? '' : run.error;
  const html = showable(code, isWhole);
  const key = `${isWhole} ${html}`;
  if (!card.isReady || !html || key === card.sent) return;
  card.sent = key;
  // The frame's origin is one that has no name.
  card.frame.contentWindow.postMessage({ html, final: isWhole }, '*');
}

export function setDevice(name) {
  device = name;
  for (const card of cards) fit(card);
}

/** Shows all cards, or one of them in large. */
export function focusCard(index) {
  for (const [at, { root }] of cards.entries()) root.classList.toggle('is-focused', at === index);
  element('variants').classList.toggle('is-one', index !== null);
  for (const card of cards) fit(card);
}

function fit({ root, frame }) {
  const { clientWidth, clientHeight } = root;
  if (clientWidth === 0) return;
  const isLarge = root.classList.contains('is-focused');
  const isNarrow = innerWidth <= NARROW;
  const isPlain = device === 'desktop' || isNarrow;
  const gap = isPlain ? 0 : 20;
  const place = { width: clientWidth - 2 * gap, height: clientHeight - BAR - 2 * gap };
  // On a phone, the page that is shown in large is as wide as the phone.
  const [wide, high] = isNarrow && isLarge ? [place.width, 0] : DEVICES[isNarrow ? 'desktop' : device];
  const width = isPlain && isLarge ? Math.max(wide, place.width) : wide;
  const scale = Math.min(1, place.width / width, isPlain ? 1 : Math.max(place.height / high, isLarge ? 0.62 : 0));
  const height = isPlain ? place.height / scale : Math.min(high, place.height / scale);
  frame.style.width = `${width}px`;
  frame.style.height = `${height}px`;
  frame.style.transform = `scale(${scale})`;
  frame.style.left = `${(clientWidth - width * scale) / 2}px`;
  frame.style.top = `${BAR + gap}px`;
  root.classList.toggle('is-device', !isPlain);
}
