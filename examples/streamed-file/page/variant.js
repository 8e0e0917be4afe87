// What the page knows of a variant: its runs, as the server tells of them.

export function createVariant(index) {
  return { index, model: '', runs: [], shown: 0 };
}

export const lastRun = ({ runs }) => runs.at(-1);
export const isWorking = (variant) => lastRun(variant)?.state === 'working';

/** The runs that left a page, with their numbers: the versions. */
export const versionsOf = ({ runs }) =>
  runs.map((run, at) => ({ run, number: at + 1 })).filter(({ run }) => run.isChanged && run.code !== '');

/** The version that is shown, as a place among the versions; -1 while there is none. */
export const shownVersion = (variant) => versionsOf(variant).findIndex(({ number }) => number === variant.shown);

/** The code to show: what is being written, else the version. */
export function codeOf(variant) {
  const run = lastRun(variant);
  if (run?.state === 'working' && run.code !== '') return run.code;
  return variant.runs[variant.shown - 1]?.code || run?.code || '';
}

/** Takes in a message about the variant. Returns true when its code may be another. */
export function take(variant, { type, value, data, eventId }) {
  if (type === 'runStarted') {
    const { text } = data;
    variant.runs.push({ text, entries: new Map(), state: 'working', code: '', error: '', startedAt: Date.now() });
    return false;
  }
  if (type === 'shown') {
    variant.shown = data.run;
    return true;
  }
  const run = lastRun(variant);
  if (!run) return false;
  switch (type) {
    case 'setCode':
      run.code = value;
      return true;
    case 'chunk':
      run.code += value;
      return true;
    case 'assistant':
    case 'thinking': {
      const entry = run.entries.get(eventId) ?? { kind: type, text: '' };
      entry.text += value;
      run.entries.set(eventId, entry);
      return false;
    }
    case 'toolStart':
      run.entries.set(eventId, { kind: 'tool', name: data.name, state: 'working', text: '' });
      return false;
    case 'toolResult': {
      const text = data.ok
        ? doneText(data.output)
        : (data.output?.error ?? data.output?.text ?? 'No reason was given.');
      run.entries.set(eventId, { kind: 'tool', name: data.name, state: data.ok ? 'done' : 'failed', text });
      return false;
    }
    case 'variantComplete':
      run.state = 'complete';
      return true;
    case 'variantError':
      run.state = 'error';
      run.error = value;
      return true;
    case 'runEnded':
      Object.assign(run, data);
      // The model said it is done, and the page is as it was: nobody should take that for a success.
      if (run.state === 'complete' && !run.isChanged) run.state = 'unchanged';
      if (run.isChanged) variant.shown = variant.runs.length;
      return true;
    default:
      return false;
  }
}

function doneText(output) {
  if (typeof output?.lines === 'number') return output.lines === 1 ? '1 line' : `${output.lines} lines`;
  if (typeof output?.firstChangedLine === 'number') return `line ${output.firstChangedLine}`;
  return typeof output?.device === 'string' ? output.device : '';
}

/** The state of a run in a few words. */
export function statusOf(variant) {
  const run = lastRun(variant);
  if (!run) return 'Waiting';
  if (run.state === 'working') {
    const tool = [...run.entries.values()].findLast(({ kind }) => kind === 'tool');
    const size = run.code === '' ? '' : ` · ${(run.code.length / 1024).toFixed(1)} kB`;
    return `${tool?.state === 'working' ? (TOOL_WORDS[tool.name] ?? tool.name) : 'Thinking'}${size}`;
  }
  if (run.state === 'error') return run.status === 'aborted' ? 'Stopped' : 'Failed';
  return run.state === 'unchanged' ? 'Nothing changed' : ['Complete', spentOf(run)].filter(Boolean).join(' · ');
}

export const TOOL_WORDS = {
  create_file: 'Writing',
  edit_file: 'Editing',
  retrieve_option: 'Reading another variant',
  generate_images: 'Making images',
  remove_background: 'Cutting out images',
  screenshot_preview: 'Looking at the page',
  save_assets: 'Saving images',
};

/** Time, tokens and cost of a run, as far as they are known. */
export function spentOf({ durationMs, tokens, cost }) {
  const time = typeof durationMs === 'number' ? `${(durationMs / 1000).toFixed(1)} s` : '';
  const used = tokens ? `${shortNumber(tokens.in + tokens.out)} tokens` : '';
  const money = typeof cost === 'number' ? `$${cost === 0 ? '0' : cost.toFixed(cost < 0.1 ? 4 : 2)}` : '';
  return [time, used, money].filter(Boolean).join(' · ');
}

const shortNumber = (value) => (value < 1000 ? String(value) : `${(value / 1000).toFixed(1)}k`);
