// Each alternative ends at the next escape character at the latest, so the whole replacement is linear in the text.
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const terminalSequences = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;
const lineEnds = /\r\n?/g;
// Everything a terminal would act on, but tab and line feed; C1 controls too.
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Surrogate}/gu;
// Only the beginning of a long run: an expression for all of it overflows the engine's stack on millions of characters.
const longRun = /([\u2400-\u2421\ufffd])\1{7}/g;

/**
 * Text that is safe to send, store and show: terminal escape sequences removed, other control characters shown as
 * their pictures (NUL as ␀), lone surrogates replaced, line ends as `\n`, long runs of one such character counted.
 */
export const safeText = (text: string): string =>
  withoutRuns(text.replace(terminalSequences, '').replace(lineEnds, '\n').replace(controls, pictureOf));

/** One line made safe: all control characters in it but tabs are shown as their pictures, line ends too. */
export const safeLine = (line: string): string =>
  withoutRuns(line.replaceAll('\n', '\u240a').replace(controls, pictureOf));

/** The text with each long run of a picture as the picture and its count. */
function withoutRuns(text: string): string {
  let shown = '';
  let from = 0;
  longRun.lastIndex = 0;
  for (let match = longRun.exec(text); match; match = longRun.exec(text)) {
    const [{ length }, character = ''] = match;
    let end = match.index + length;
    while (text[end] === character) end += 1;
    shown += `${text.slice(from, match.index)}${character}(×${end - match.index})`;
    from = end;
    longRun.lastIndex = end;
  }
  return shown + text.slice(from);
}

function pictureOf(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}

/** At most `limit` UTF-16 units of a line, never half a character, with a note of how long it was. */
export function cutLine(line: string, limit: number, fullLength = line.length): string {
  if (line.length <= limit && fullLength <= limit) return line;
  const last = line.charCodeAt(limit - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit;
  return `${line.slice(0, end)}… [line cut: ${fullLength} characters]`;
}
