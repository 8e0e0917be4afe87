// Screens of a terminal as a picture: one file, without fonts, scripts or links.

import type { StyledRun } from '../../packages/treadle/src/test-support/emulator.ts';

/** What each row has. */
export type Screen = readonly (readonly StyledRun[])[];

const BACKGROUND = '#1c1f26';
const FOREGROUND = '#d8dee9';
/** The terminal's 16 colours. */
const PALETTE = [
  ...['#3b4252', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#d8dee9'],
  ...['#7f8694', '#ff7a85', '#b5e890', '#ffd68a', '#7fc1ff', '#de8ff0', '#6fd3de', '#ffffff'],
];

const CELL = { width: 8.4, height: 18 };
const MARGIN = 14;
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const place = (number: number): string => String(Math.round(number * 10) / 10);

/** Each run says where it begins: the columns stand below each other with every font. */
function spanOf({ column, text, ...style }: StyledRun, baseline: number): string {
  const shown = text.trimEnd();
  if (shown === '') return '';
  const attributes = [
    `x="${place(MARGIN + column * CELL.width)}" y="${place(baseline)}"`,
    `textLength="${place([...shown].length * CELL.width)}"`,
    style.colour === null ? '' : `fill="${PALETTE[style.colour] ?? FOREGROUND}"`,
    style.isBold ? 'font-weight="bold"' : '',
    style.isDim ? 'opacity="0.6"' : '',
    style.isItalic ? 'font-style="italic"' : '',
    style.isUnderlined ? 'text-decoration="underline"' : '',
  ];
  return `<text ${attributes.filter((attribute) => attribute !== '').join(' ')}>${escaped(shown)}</text>`;
}

/** Milliseconds that each screen stands. */
const STANDS_MS = 3000;

/** One screen after the other, without end. Without animations, it is the last one. */
function styleOf(screens: number): string {
  const part = 100 / screens;
  const steps = `@keyframes turn{0%{opacity:1}${place(part)}%{opacity:0}100%{opacity:0}}`;
  const delays = Array.from({ length: screens }, (_, index) => {
    const delay = (index - screens) * STANDS_MS;
    return `.s${index}{animation:turn ${screens * STANDS_MS}ms step-end ${delay}ms infinite}`;
  });
  const moving = `${steps}${delays.join('')}`;
  return `text{white-space:pre}.s{opacity:0}.s:last-child{opacity:1}@media (prefers-reduced-motion:no-preference){${moving}}`;
}

/**
 * @param screens each from its first row on
 * @param columns how many characters a row can have
 * @param title what the picture shows, for those who don't see it
 */
export function svgOf(screens: readonly Screen[], columns: number, title: string): string {
  const isEmpty = (runs: readonly StyledRun[]): boolean => runs.every(({ text }) => text.trim() === '');
  const rows = Math.max(...screens.map((screen) => screen.findLastIndex((runs) => !isEmpty(runs)) + 1));
  const width = place(columns * CELL.width + 2 * MARGIN);
  const height = place(rows * CELL.height + 2 * MARGIN);
  const groups = screens.map((screen, index) => {
    const texts = screen.map((runs, row) =>
      runs.map((run) => spanOf(run, MARGIN + (row + 0.75) * CELL.height)).join(''),
    );
    return `<g class="s s${index}">\n${texts.filter((row) => row !== '').join('\n')}\n</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${styleOf(screens.length)}</style>`,
    `<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>`,
    `<g font-family="${FONT}" font-size="14" fill="${FOREGROUND}">`,
    ...groups,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}
