import { plainLine, plainText } from '../../cli/asking/plain-text.ts';
import { cost, costAtLeast, counted, grouped } from '../../cli/output/figures.ts';
import { todoLines } from '../../cli/output/todo-lines.ts';
import { pieceRows } from '../markdown/render.ts';
import type { LiveRows } from '../screen/screen.ts';
import { fit, widthOf, wrap } from '../screen/text.ts';
import type { Panel } from '../panels/panel.ts';
import { lastLines, openToolRows, type RowOptions } from '../view/rows.ts';
import { isWaitingForTasks, type ViewState } from '../view/state.ts';
import type { InputLine } from './input-line.ts';
import type { RunningCommand } from './shell.ts';

/** What the live rows show besides the session: what belongs to this terminal alone. */
export interface LocalState {
  readonly panel: Panel | null;
  readonly input: InputLine;
  /** Said above the input line, until the next key; null for nothing. */
  readonly hint: string | null;
  readonly now: number;
  /** Turns around while something goes on. */
  readonly beat: number;
  readonly model: string;
  readonly folder: string;
  readonly mode: string;
  readonly isHere: boolean;
  /** The run broke off, and nobody has said what is to become of it. */
  readonly isCutOff: boolean;
  /** Milliseconds since the last event of the session. */
  readonly silentMs: number;
  /** What is to be done about silence; undefined where the session is driven here. */
  readonly onSilence: string | undefined;
  /** Messages that wait for the session, or for the end of a compaction. */
  readonly early: readonly string[];
  /** A command of the user's that runs. */
  readonly shell: RunningCommand | null;
}

const GLYPHS = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧'];
const TODO_ROWS = 5;
const CELLS = 8;
/** Milliseconds after which a prompt that nobody has begun to answer is shown. */
const SENT_MS = 500;
/** Milliseconds of silence that are too long for a prompt, for a model, and for a command. */
const UNHEARD_MS = 3000;
const SILENT_MS = 20_000;
const SILENT_TOOL_MS = 120_000;

/** The rows below the transcript: what is going on, a panel, the input line, and a status row. Never more than fit. */
export function liveRows(state: ViewState, local: LocalState, rows: number, options: RowOptions): LiveRows {
  const { columns, theme } = options;
  const { panel, input, hint } = local;
  const most = Math.max(4, rows - 1);
  const status = fit(theme.dim(statusText(state, local)), columns);
  const label = panel?.label ?? '> ';
  const below = input.below(columns, theme);
  const editorMost = Math.max(1, Math.min(Math.floor(rows * 0.4), most - 1 - below.length));
  const indent = widthOf(label);
  const editor = input.rows(columns - indent, editorMost);
  const shownRows = panel?.isSecret === true ? editor.rows.map((row) => '•'.repeat(widthOf(row))) : editor.rows;
  const typedRows = shownRows.map((row, index) =>
    index === 0 ? `${theme.accent(label)}${row}` : `${' '.repeat(Math.min(indent, 2)).padEnd(indent)}${row}`,
  );
  const left = most - typedRows.length - below.length - 1;
  const said = hint === null ? [] : wrap(theme.warn(plainText(hint)), columns).slice(0, 3);
  const panelRows = panel ? panel.rows(columns, Math.max(2, left - said.length - 1), theme) : [];
  const room = left - panelRows.length - said.length;
  const going = goingOn(state, local, options);
  const cut = Math.max(0, going.length - Math.max(0, room));
  const shown =
    cut === 0
      ? going
      : room <= 1
        ? going.slice(cut)
        : [theme.dim(`… ${counted(cut + 1, 'row')} above`), ...going.slice(cut + 1)];
  const above = [...shown, ...panelRows, ...said].slice(-Math.max(0, left));
  return {
    rows: [...above, ...typedRows, ...below, status],
    caret: { row: above.length + editor.caret.row, column: indent + editor.caret.column },
  };
}

function goingOn(state: ViewState, local: LocalState, options: RowOptions): string[] {
  const { columns, theme } = options;
  const { cells, reply, todo, plan, queued, sent, tasks, question } = state;
  const text = (reply?.open() ?? []).flatMap((piece, index) => {
    const rows = pieceRows(piece, columns, theme);
    // As it will stand in the transcript: an item of a list goes on below the one before.
    return index === 0 && reply?.isShown !== true && rows[0] !== '' ? ['', ...rows] : rows;
  });
  const thinking = reply?.thinking ?? '';
  const thought = thinking === '' ? [] : wrap(plainText(thinking.trim()), columns - 2).slice(-2);
  const now = state.question === null ? local.now : null;
  // The panel shows the call that is asked about.
  const shownCells = cells.filter(({ callId }) => callId !== question?.callId).slice(0, CELLS);
  const more = cells.length - CELLS > 0 ? [theme.dim(`+${cells.length - CELLS} more`)] : [];
  const list = plan
    ? plan.steps.map(({ description, completed }) => `  ${completed ? '[x]' : '[ ]'} ${plainLine(description, 120)}`)
    : todoLines(todo, theme)
        .split('\n')
        .filter((line) => line !== '');
  const firstOpen = Math.max(0, list.findIndex((line) => !line.includes('[x]')) - 1);
  const waiting = queued.map(({ kind, text: body }, index) => {
    const how = index === 0 && !local.input.text.includes('\n') ? ' · Up takes it back' : '';
    const what = `→ ${kind === 'steering' ? 'next call' : 'after this run'}: ${plainLine(body, 200)}`;
    return theme.dim(`${fit(what, Math.max(10, columns - widthOf(how)))}${how}`);
  });
  const held = [
    ...sent.filter(({ at }) => local.now - at > SENT_MS).map((one) => `→ sent: ${plainLine(one.text, 200)}`),
    ...local.early.map((one) => `→ waits: ${plainLine(one, 200)} · Esc takes it back`),
  ].map((line) => theme.dim(fit(line, columns)));
  const background = [...tasks.values()].map(({ name }) => theme.dim(fit(`⚙ In the background: ${name}`, columns)));
  return [
    ...(text.length > 0 ? text : ['']),
    ...thought.map((row) => theme.dim(`  ${row}`)),
    ...shownCells.flatMap((cell) => openToolRows(cell, options, now)),
    ...more,
    ...list.slice(firstOpen, firstOpen + TODO_ROWS).map((line) => fit(line, columns)),
    ...background,
    ...waiting,
    ...held,
    ...(local.shell ? shellRow(local.shell, local, options) : []),
    ...workingRow(state, local, options),
  ];
}

/** A command of the user's: what it is, since when, and the last lines of its output. */
function shellRow({ command, startedAt, output }: RunningCommand, { now }: LocalState, options: RowOptions): string[] {
  const { columns, theme } = options;
  const since = ` · ${time(Math.max(0, Math.floor((now - startedAt) / 1000)))} · Esc ends it`;
  const head = fit(`${theme.accent('!')} ${plainLine(command, 200)}`, Math.max(10, columns - widthOf(since)));
  return ['', `${head}${theme.dim(since)}`, ...lastLines(output, options)];
}

function workingRow(state: ViewState, local: LocalState, { columns, theme }: RowOptions): string[] {
  const { now, beat } = local;
  const { run, reply, status, paused, question } = state;
  const sign = theme.accent(GLYPHS[beat % GLYPHS.length] ?? '');
  const silence = silenceWords(state, local);
  const below = silence === null ? [] : wrap(theme.warn(silence), columns);
  if (run === null) {
    const busy =
      status === null ? [] : [fit(`${sign} ${theme.dim(`${plainLine(status, 60)} · Esc interrupts`)}`, columns)];
    return busy.length + below.length === 0 ? [] : ['', ...busy, ...below];
  }
  if (paused !== null || question !== null || local.isCutOff) return [];
  const seconds = Math.max(0, Math.floor((now - run.startedAt) / 1000));
  const taken = run.tokens + Math.ceil((reply?.length ?? 0) / 4);
  const doing =
    status ??
    (reply?.writing
      ? `writing a call of ${reply.writing}`
      : reply?.thinking
        ? 'thinking'
        : isWaitingForTasks(state)
          ? 'in the background'
          : 'working');
  const parts = [
    plainLine(doing, 60),
    time(seconds),
    ...(taken > 0 ? [`${grouped(taken)} tokens`] : []),
    ...(run.cost !== null && run.cost > 0 ? [cost(run.cost)] : []),
    isWaitingForTasks(state) ? 'Esc twice ends it' : 'Esc interrupts',
  ];
  return ['', fit(`${sign} ${theme.dim(parts.join(' · '))}`, columns), ...below];
}

/** Whether rows change though no event comes: with the time, or when something has waited for too long. */
export function changesByItself(state: ViewState, { shell, isCutOff, now, silentMs, onSilence }: LocalState): boolean {
  const { run, paused, question, status, sent } = state;
  const isOpen = run !== null && paused === null && question === null && !isCutOff;
  const isFresh = sent.some(({ at }) => now - at <= SENT_MS);
  const isHoping = sent.length > 0 && onSilence !== undefined && silentMs <= UNHEARD_MS;
  return shell !== null || isOpen || status !== null || isFresh || isHoping;
}

/** What to do where nobody may drive the session any more; null while there is no sign of it. */
function silenceWords(state: ViewState, { silentMs, onSilence }: LocalState): string | null {
  const { run, paused, question, status, sent, cells } = state;
  if (onSilence === undefined || paused !== null || question !== null) return null;
  const isAtWork = cells.some((cell) => cell.state === 'running') || isWaitingForTasks(state);
  const isOpen = run !== null || status !== null;
  const most = isOpen ? (isAtWork ? SILENT_TOOL_MS : SILENT_MS) : sent.length > 0 ? UNHEARD_MS : Infinity;
  return silentMs > most ? `Nothing was heard for a while. ${onSilence}` : null;
}

const time = (seconds: number): string =>
  seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;

function statusText(
  { context, totalCost, isCostKnown, title, driver, run, paused, question }: ViewState,
  { model, folder, mode, isHere }: LocalState,
): string {
  const { used, window } = context;
  return [
    model,
    mode,
    ...(used > 0 && window !== null ? [`${Math.round((used / window) * 100)} % of the window`] : []),
    ...(totalCost > 0 ? [isCostKnown ? cost(totalCost) : costAtLeast(totalCost)] : []),
    ...(run && paused === null && question === null && !isHere && driver !== null ? [`driven by ${driver}`] : []),
    ...(title === null ? [] : [plainLine(title, 40)]),
    plainLine(folder, 60),
  ].join(' · ');
}
