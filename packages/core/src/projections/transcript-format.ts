import type {
  Transcript,
  TranscriptAssistant,
  TranscriptAttachment,
  TranscriptEntry,
  TranscriptTool,
  TranscriptUser,
} from './transcript.ts';

/**
 * A transcript as plain text. What was said is indented by two columns and what the transcript says of it isn't, so that
 * nothing that was said can pass for more of the transcript. Control characters are as they were.
 */
export function transcriptText({ entries }: Transcript): string {
  return entries.map((entry) => `${textEntry(entry)}\n`).join('\n');
}

function textEntry(entry: TranscriptEntry): string {
  if (entry.type === 'note') return `[${oneLine(entry.text)}]`;
  if (entry.type === 'extension') return `[${oneLine(entry.kind)}]`;
  const header = oneLine(headerOf(entry));
  if (entry.type === 'tool') {
    const result = [...nonEmpty(entry.text), ...entry.attachments.map(placeholder)];
    return [
      header,
      ...indented(argumentsOf(entry)),
      ...(result.length === 0 ? [] : ['  →', ...result.flatMap(indented)]),
    ].join('\n');
  }
  const thinking =
    entry.type === 'assistant' && entry.thinking !== '' ? ['  (thinking)', ...indented(entry.thinking), ''] : [];
  return [
    header,
    ...thinking,
    ...nonEmpty(entry.text).flatMap(indented),
    ...entry.attachments.flatMap((each) => indented(placeholder(each))),
  ].join('\n');
}

/**
 * A transcript as Markdown (CommonMark). What was said is quoted: a fence that was never closed, or a heading, ends with the
 * quotation. Arguments and results are in fences longer than any in them.
 */
export function transcriptMarkdown({ sessionId, title, entries }: Transcript): string {
  const top = [`# ${escaped(title ?? 'Session')}`, `Session ${code(sessionId)}`];
  return `${[...top, ...entries.map(markdownEntry)].join('\n\n')}\n`;
}

function markdownEntry(entry: TranscriptEntry): string {
  if (entry.type === 'note') return `*${escaped(entry.text)}*`;
  if (entry.type === 'extension') return `*${escaped(entry.kind)}*`;
  if (entry.type === 'tool') {
    const { status, by, durationMs, text, attachments, toolName } = entry;
    const header = [`**Tool** ${code(toolName)}`, ...toolFacts(status, by, durationMs)].join(' · ');
    const parts = [header, fenced(argumentsOf(entry), typeof entry.arguments === 'string' ? '' : 'json')];
    if (text !== '') parts.push(fenced(text, ''));
    return [...parts, ...attachments.map((each) => escaped(placeholder(each)))].join('\n\n');
  }
  const thinking = entry.type === 'assistant' && entry.thinking !== '' ? ['*Thinking:*', quoted(entry.thinking)] : [];
  const said = nonEmpty(entry.text).map(quoted);
  return [
    `## ${escaped(headerOf(entry))}`,
    ...thinking,
    ...said,
    ...entry.attachments.map((each) => escaped(placeholder(each))),
  ].join('\n\n');
}

function headerOf(entry: TranscriptUser | TranscriptAssistant | TranscriptTool): string {
  if (entry.type === 'tool') {
    return [`Tool ${entry.toolName}`, ...toolFacts(entry.status, entry.by, entry.durationMs)].join(' · ');
  }
  if (entry.type === 'assistant') {
    return `Assistant (${entry.provider}/${entry.model})${entry.isComplete ? '' : ' · cut off'}`;
  }
  if (entry.isRuntime) return `Runtime (${entry.origin})`;
  return entry.origin === 'prompt' ? 'User' : `User (${entry.origin.replace('_', ' ')})`;
}

const toolFacts = (status: TranscriptTool['status'], by: TranscriptTool['by'], durationMs: number | null): string[] => [
  status === 'open' ? 'no result' : status,
  ...(by === 'server' ? [] : [`by the ${by}`]),
  ...(durationMs === null ? [] : [`${Math.round(durationMs)} ms`]),
];

const argumentsOf = ({ arguments: args }: TranscriptTool): string =>
  typeof args === 'string' ? args : JSON.stringify(args, null, 2);

function placeholder({ kind, mediaType, name, bytes, url }: TranscriptAttachment): string {
  const facts = [
    mediaType,
    ...(name === null ? [] : [name]),
    ...(bytes === null ? [] : [`${bytes} bytes`]),
    ...(url === null ? [] : [url]),
  ];
  return `[${kind}: ${facts.join(', ')}]`;
}

const nonEmpty = (text: string): string[] => (text === '' ? [] : [text]);

/** CommonMark knows three ways to end a line. */
const linesOf = (text: string): string[] => text.split(/\r\n|\r|\n/);

const oneLine = (text: string): string => text.replace(/\s+/gu, ' ').trim();

const indented = (text: string): string[] => linesOf(text).map((line) => (line === '' ? '' : `  ${line}`));

const quoted = (text: string): string =>
  linesOf(text)
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n');

/** A line of text in which no character means anything to Markdown. */
const escaped = (text: string): string => oneLine(text).replace(/[\\`*_[\]<>#&|~!$]/g, String.raw`\$&`);

/** How many backticks stand side by side at most. */
const longestRun = (text: string): number => Math.max(0, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));

function fenced(text: string, language: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  // Line ends are made the same, so that a last one can't merge with the one before the closing fence.
  return `${fence}${language}\n${linesOf(text).join('\n')}\n${fence}`;
}

function code(text: string): string {
  const line = oneLine(text);
  const ticks = '`'.repeat(longestRun(line) + 1);
  const pad = line === '' || line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}
