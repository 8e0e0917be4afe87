import { plainLine, plainText } from '../../cli/asking/plain-text.ts';
import { counted, duration } from '../../cli/output/figures.ts';
import { planLines } from '../../cli/output/plan-lines.ts';
import { todoLines } from '../../cli/output/todo-lines.ts';
import { argumentsText, toolLine } from '../../cli/output/tool-line.ts';
import { isJsonObject } from '@treadle/core/json';
import { pieceRows } from '../markdown/render.ts';
import { fit, widthOf, wrap, wrapIndented } from '../screen/text.ts';
import type { Theme } from '../screen/theme.ts';
import type { Block, ToolCell } from './blocks.ts';
import { diffRows } from './diff.ts';
import { bodyText } from './words.ts';

/** How blocks become rows. */
export interface RowOptions {
  readonly columns: number;
  readonly theme: Theme;
  /** A tool's name for people. */
  label(toolName: string): string;
  /** False where keys do nothing by themselves: in lines. */
  readonly hasKeys?: boolean;
  /** Everything is shown: thinking, results, whole diffs. */
  readonly isWhole?: boolean;
}

/** Rows of a block, with the empty row that sets it off from what is before it. */
export function blockRows(block: Block, before: Block | null, options: RowOptions): string[] {
  const { columns, theme } = options;
  switch (block.type) {
    case 'markdown': {
      const rows = pieceRows(block.piece, columns, theme);
      return block.isFirst && before !== null && rows[0] !== '' ? ['', ...rows] : rows;
    }
    case 'prompt':
      return [
        '',
        ...(block.by === undefined ? [] : wrap(theme.dim(`${plainLine(block.by, 80)}:`), columns)),
        ...promptRows(options.isWhole === true ? block.whole : block.text, options),
      ];
    case 'shell':
      return ['', ...shellRows(block.command, block.output, options)];
    case 'thinking':
      return thinkingRows(block.text, options);
    case 'tool':
      return [...(before?.type === 'tool' || before === null ? [] : ['']), ...toolRows(block.cell, options)];
    case 'todo':
      return ['', ...lines(todoLines(block.items, theme), columns)];
    case 'plan':
      return ['', ...lines(planLines(block.plan, theme), columns)];
    case 'notice': {
      const rows = wrap(theme[block.tone](plainText(block.text)), columns);
      return before?.type === 'notice' || before === null ? rows : ['', ...rows];
    }
    case 'rows':
      return ['', ...block.text.split('\n').flatMap((line) => wrap(line, columns))];
    case 'list':
      return ['', ...listRows(block.items, columns)];
  }
}

/** Columns of a name, and of the words beside it at least. */
const NAME_COLUMNS = 26;
const ABOUT_COLUMNS = 30;

/** Names with their words beside them, or below them where there is little room. */
function listRows(items: readonly (readonly [string, string])[], columns: number): string[] {
  const width = Math.min(NAME_COLUMNS, Math.max(...items.map(([name]) => widthOf(name))));
  const isBeside = columns >= width + 2 + ABOUT_COLUMNS;
  return items.flatMap(([name, about]) =>
    isBeside && widthOf(name) <= width
      ? wrapIndented(name + ' '.repeat(width + 2 - widthOf(name)), about, columns).map((row) => row.trimEnd())
      : [...wrap(name, columns), ...wrapIndented('    ', about, columns)],
  );
}

/** Rows that are shown of a prompt: what was pasted or attached may be long. */
const PROMPT_ROWS = 20;

function promptRows(text: string, { columns, theme, isWhole }: RowOptions): string[] {
  const all = plainText(text.trimEnd()).split('\n');
  const shown = isWhole === true ? all : all.slice(0, PROMPT_ROWS);
  const rows = shown.flatMap((line, index) =>
    wrapIndented(index === 0 ? theme.accent('> ') : '  ', theme.bold(line), columns),
  );
  if (isWhole === true || (rows.length <= PROMPT_ROWS && shown.length === all.length)) return rows;
  const left = Math.max(1, all.length - PROMPT_ROWS);
  return [...rows.slice(0, PROMPT_ROWS), theme.dim(`  … ${counted(left, 'more line')} · Ctrl+O shows all`)];
}

/** Rows that are shown of what a command of the user's has put out. */
const SHELL_ROWS = 30;

function shellRows(command: string, output: string, options: RowOptions): string[] {
  const { columns, theme, isWhole } = options;
  const head = wrapIndented(theme.accent('! '), theme.bold(plainText(command)), columns);
  const most = isWhole === true ? Infinity : SHELL_ROWS;
  return [...head, ...indented(shownLines(output, most, options).flatMap((line) => wrap(line, columns - 2)))];
}

/** The beginning and the end of an output, each line harmless and dim. */
function shownLines(output: string, most: number, { theme }: RowOptions): string[] {
  const all = plainText(foldReturns(output).trimEnd()).split('\n');
  const half = Math.floor(most / 3);
  const shown =
    all.length <= most + 1
      ? all
      : [...all.slice(0, half), `… ${counted(all.length - most, 'more line')}`, ...all.slice(half - most)];
  return shown.map((line) => theme.dim(line));
}

const lines = (text: string, columns: number): string[] =>
  text
    .trimEnd()
    .split('\n')
    .flatMap((line) => wrap(line, columns));

function thinkingRows(text: string, { columns, theme, isWhole }: RowOptions): string[] {
  const words = text.trim().split(/\s+/).length;
  if (isWhole !== true) return ['', theme.dim(fit(`· thought, ${counted(words, 'word')}`, columns))];
  return [
    '',
    ...plainText(text.trim())
      .split('\n')
      .flatMap((line) => wrap(theme.dim(line), columns)),
  ];
}

/** A call that is over: a line, the change that it made, and where the rest of its result is. */
function toolRows(cell: ToolCell, options: RowOptions): string[] {
  const { columns, theme, isWhole } = options;
  const { toolName, arguments: args, content, durationMs, details, answer } = cell;
  const state =
    cell.state === 'cut off'
      ? { isError: true, content: [{ type: 'text', text: 'cut off' } as const] }
      : { isError: cell.isError ?? false, content };
  const call = {
    toolName,
    label: options.label(toolName),
    arguments: args,
    isRefused: cell.state === 'refused',
    isTask: cell.isTask === true,
    ...state,
    ...(details === undefined ? {} : { details }),
    ...(durationMs === undefined ? {} : { durationMs }),
  };
  const words = answer === undefined ? refusal(cell, options.hasKeys !== false) : answered(cell, answer);
  const said = words === '' ? '' : theme.dim(` · ${words}`);
  const text = toolName === 'bash' ? commandOutput(bodyText(content)) : bodyText(content);
  const count = text === '' ? 0 : text.trimEnd().split('\n').length;
  const more =
    count > OUTPUT_ROWS + 1 && isWhole !== true ? theme.dim(` [#${cell.number} ${counted(count, 'line')}]`) : '';
  const rows = wrapIndented('', `${toolLine(call, theme)}${said}${more}`, columns);
  const diff = changeOf(cell);
  if (diff !== '')
    return [
      ...rows,
      ...indented(
        diffRows(
          diff,
          columns - 2,
          theme,
          isWhole === true ? {} : { most: 12, key: options.hasKeys === false ? `/show ${cell.number}` : 'Ctrl+O' },
        ),
      ),
    ];
  if (isWhole === true) {
    return [
      ...rows,
      ...indented(
        plainText(text.trimEnd())
          .split('\n')
          .flatMap((line) => wrap(line, columns - 2)),
      ),
    ];
  }
  // A call that was never run has no output: the line above says why.
  if (toolName !== 'bash' || cell.isTask === true || cell.startedAt === undefined) return rows;
  const hasFailed = isJsonObject(details) && details['exitCode'] !== 0;
  const shown = shownLines(text, hasFailed ? FAILED_ROWS : OUTPUT_ROWS, options).filter(
    (line) => line !== theme.dim(''),
  );
  return [...rows, ...indented(shown.map((line) => fit(line, columns - 2)))];
}

/** Who was asked about a call, and why it was refused all the same: the mode may have changed. */
function answered({ state, why }: ToolCell, answer: string): string {
  const by = plainLine(answer, 200);
  if (state !== 'refused') return by;
  return by.startsWith('refused ') || why === undefined
    ? by.replace('refused ', '')
    : `${by}, but: ${plainLine(why, 200)}`;
}

/** Why a call was refused that nobody was asked about. */
function refusal({ state, why }: ToolCell, hasKeys: boolean): string {
  if (state !== 'refused' || why === undefined) return '';
  const how = hasKeys && why.startsWith('In plan mode') ? ' (Shift+Tab leaves it)' : '';
  return plainLine(`${why.replace(/\.$/, '')}${how}`, 200);
}

/** What a call has changed in a file, as a diff; empty for a call that changed none. */
function changeOf({ toolName, arguments: { content }, details }: ToolCell): string {
  if (details === undefined || !isJsonObject(details)) return '';
  if (typeof details['diff'] === 'string') return details['diff'];
  const isNew = toolName === 'write_file' && details['created'] === true && typeof content === 'string';
  return isNew ? content.trimEnd().replaceAll(/^/gm, '+') : '';
}

const indented = (rows: readonly string[]): string[] => rows.map((row) => `  ${row}`);

/** What a command has put out, without the names of the streams: its exit code stands in the line above. */
const commandOutput = (text: string): string =>
  text
    .replace(/^(?:bash was [^\n]*\n)?exit code [^\n]*\n((?:\[[^\n]*\]\n)*)stdout:(?: \(empty\)|\n)/, '$1')
    .replace(/\n?stderr: \(empty\)$/, '')
    .replace(/(^|\n)stderr:\n/, '$1')
    .replace(/^\n/, '');

/** Lines that are shown of a command's output, and of one that failed: its end most often says why. */
const OUTPUT_ROWS = 6;
const FAILED_ROWS = 15;

/** What a terminal would show of lines that go back to their beginning: their last state. */
const foldReturns = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(/^[^\n]*\r(?=[^\n])/gm, '');

/** A call that is not over: what it does, since when, and the last lines of what it shows. */
export function openToolRows(cell: ToolCell, options: RowOptions, now: number | null): string[] {
  const { columns, theme } = options;
  const { toolName, arguments: args, state, startedAt, progress, output } = cell;
  const since =
    startedAt === undefined || now === null
      ? ''
      : ` · ${duration(Math.floor(Math.max(0, now - startedAt) / 1000) * 1000).replace('.0', '')}`;
  const doing = progress === undefined ? '' : ` · ${plainLine(progress, 80)}`;
  const words =
    state === 'running'
      ? `${since}${doing}`
      : state === 'asked'
        ? ' · waits for your answer'
        : state === 'waiting'
          ? ' · waits'
          : ' · done';
  const short = argumentsText(args);
  const what = `• ${plainLine(options.label(toolName), 60)}${short === '' ? '' : ` · ${short}`}`;
  // Its time stands at the end, however long the call is.
  const head = theme.dim(`${fit(what, Math.max(20, columns - widthOf(words)))}${words}`);
  return [fit(head, columns), ...lastLines(output, options)];
}

/** The last lines of what goes on. */
export const lastLines = (output: string, { columns, theme }: RowOptions): string[] =>
  plainText(foldReturns(output).trimEnd())
    .split('\n')
    .filter((text) => text !== '')
    .slice(-5)
    .map((text) => `  ${theme.dim(fit(text, columns - 2))}`);
