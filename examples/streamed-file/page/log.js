// The conversation with one variant, or what was asked of all.
import { element, make } from './dom.js';
import { spentOf, TOOL_WORDS } from './variant.js';

/** Shows the runs of a variant. Only what has changed is drawn anew. */
export function showFeed(variant) {
  const feed = element('feed');
  const runs = variant?.runs ?? [];
  const wasAtEnd =
    feed.dataset.variant !== String(variant?.index) || feed.scrollHeight - feed.scrollTop - feed.clientHeight < 40;
  while (feed.children.length > runs.length) feed.lastElementChild.remove();
  for (const [at, run] of runs.entries()) {
    const isLast = at === runs.length - 1;
    const shown = feed.children[at];
    if (shown && shown.run === run && !isLast && shown.dataset.state === run.state) continue;
    const item = runItem(run);
    if (shown) shown.replaceWith(item);
    else feed.append(item);
  }
  feed.dataset.variant = String(variant?.index);
  if (wasAtEnd) feed.scrollTop = feed.scrollHeight;
}

function runItem(run) {
  const item = make('li', { run });
  item.dataset.state = run.state;
  item.append(make('p', { className: 'asked' }, run.text || 'A screenshot'));
  for (const entry of run.entries.values()) item.append(entryItem(entry));
  if (run.state === 'working') item.append(make('p', { className: 'busy' }, 'Working'));
  if (run.state === 'unchanged') item.append(make('p', { className: 'failed' }, 'The page is as it was before.'));
  if (run.state === 'error') item.append(make('p', { className: 'failed' }, run.error));
  const spent = spentOf(run);
  if (spent) item.append(make('p', { className: 'spent' }, spent));
  return item;
}

function entryItem({ kind, text, name, state }) {
  if (kind === 'thinking') {
    return make('details', { className: 'thought' }, make('summary', {}, 'Thoughts'), make('p', {}, text));
  }
  if (kind !== 'tool') return make('p', { className: 'said' }, text);
  const item = make('p', { className: 'tool' }, make('b', {}, TOOL_WORDS[name] ?? name));
  item.dataset.state = state;
  if (text) item.append(' ', make('span', {}, text));
  return item;
}

// Where the place for it grows or shrinks, its end stays in sight.
new ResizeObserver(() => {
  element('feed').scrollTop = element('feed').scrollHeight;
}).observe(element('feed'));
