import { CLOSE, isSpace, type Body, type BodyProblem, type CallNames, type SchemaOf } from './body.ts';
import { jsonBody } from './json-body.ts';
import { xmlBody } from './xml-body.ts';

const OPEN = '<tool>';
/** Characters of one element. */
const MAX_ELEMENT = 10 * 1024 * 1024;
/** White space that waits for what follows it. */
const MAX_HELD = 256;
/** What is malformed is read again from behind its first `</tool>`; so often, then the rest is text. */
const MAX_MALFORMED = 32;

/** A `<tool>` element that was read to its end. */
export interface ScannedCall {
  readonly names: CallNames;
  /** JSON text; '' for no arguments. */
  readonly argumentsText: string;
  /** The element as it was written. */
  readonly raw: string;
}

/** A `<tool>` element that is not a call. */
export interface ScannedFailure {
  readonly problem: BodyProblem | { readonly reason: 'cut_off'; readonly message: string };
  readonly names: CallNames;
  readonly raw: string;
}

/** Where a scanner puts what it reads, in the order of the text. At most one call is open at a time. */
export interface ScannerSink {
  /** Text outside of elements. White space before an element is left out. */
  text(piece: string): void;
  /** Server and tool of the open call are known; its arguments follow. */
  named(names: CallNames): void;
  argumentsPiece(piece: string): void;
  /** The open call is over, whether it was `named` or not. */
  call(call: ScannedCall): void;
  failed(failure: ScannedFailure): void;
}

/** Starts scanning one reply. */
export function elementScanner(sink: ScannerSink, schemaOf: SchemaOf) {
  /** White space, or the beginning of a tag, that isn't given out before what follows is known. */
  let held = '';
  let inElement = false;
  let body: Body | null = null;
  /** The element so far, from behind its `<tool>`. */
  let raw = '';
  /** The last characters of what is skipped, in which `</tool>` may have begun. */
  let tail = '';
  /** White space behind an element belongs to nothing. */
  let behindElement = false;
  let isNamed = false;
  let failure: BodyProblem | null = null;
  let lost = false;
  let malformed = 0;

  function scan(text: string): void {
    let rest = text;
    while (rest !== '') rest = inElement ? readElement(rest) : readText(rest);
  }

  /** Returns what follows the text: what is behind a `<tool>`. */
  function readText(piece: string): string {
    let text = held + piece;
    held = '';
    if (behindElement) {
      text = text.trimStart();
      behindElement = text === '';
    }
    const at = malformed < MAX_MALFORMED ? text.indexOf(OPEN, 0) : -1;
    const end = at < 0 ? text.length - openLength(text) : at;
    const trimmed = text.slice(0, end).trimEnd();
    const shown = at < 0 && end - trimmed.length > MAX_HELD ? text.slice(0, end) : trimmed;
    if (shown !== '') sink.text(shown);
    if (at < 0) {
      held = text.slice(shown.length);
      return '';
    }
    inElement = true;
    return text.slice(at + OPEN.length);
  }

  function readElement(text: string): string {
    if (lost) return '';
    if (failure) return skip(text, failure);
    let from = 0;
    if (!body) {
      while (from < text.length && isSpace(text[from] ?? '')) from += 1;
      if (from === text.length) {
        raw += text;
        return '';
      }
      body = text[from] === '<' ? xmlBody(schemaOf) : jsonBody();
    }
    const at = body.push(text, from);
    raw += text.slice(0, at);
    tellArguments(body);
    if (body.state === 'open' && raw.length <= MAX_ELEMENT) return '';
    if (body.state === 'closed') {
      const call = { names: body.names, argumentsText: body.argumentsText, raw: `${OPEN}${raw}` };
      close();
      sink.call(call);
      return text.slice(at);
    }
    failure = body.problem ?? tooLarge(raw);
    const behind = raw + text.slice(at);
    raw = '';
    return skip(behind, failure);
  }

  /** The element is no call. It ends at its first `</tool>`. */
  function skip(text: string, problem: BodyProblem): string {
    const searched = tail + text;
    const at = searched.indexOf(CLOSE);
    if (at < 0) {
      raw += text;
      tail = searched.slice(1 - CLOSE.length);
      if (raw.length > MAX_ELEMENT) {
        // Whatever this is, it isn't kept: it has no end, or none that anybody waits for.
        lost = true;
        raw = raw.slice(0, MAX_ELEMENT);
      }
      return '';
    }
    const end = at - tail.length + CLOSE.length;
    raw += text.slice(0, end);
    giveUp(problem);
    return text.slice(end);
  }

  function tellArguments(from: Body): void {
    const { server, tool } = from.names;
    if (!isNamed && server !== undefined && tool !== undefined && tool !== '') {
      isNamed = true;
      sink.named(from.names);
    }
    if (!isNamed) return;
    const piece = from.takeArguments();
    if (piece !== '') sink.argumentsPiece(piece);
  }

  function giveUp(problem: ScannedFailure['problem']): void {
    const names = body?.names ?? { server: undefined, tool: undefined };
    const failed = { problem, names, raw: `${OPEN}${raw}` };
    malformed += 1;
    close();
    sink.failed(failed);
  }

  function close(): void {
    inElement = false;
    body = null;
    failure = null;
    raw = '';
    tail = '';
    isNamed = false;
    behindElement = true;
  }

  function endElement(cut: boolean): void {
    if (cut) return giveUp({ reason: 'cut_off', message: 'the reply was cut off inside of the call' });
    if (!failure && body?.end() === true) {
      const call = { names: body.names, argumentsText: body.argumentsText, raw: `${OPEN}${raw}` };
      close();
      return sink.call(call);
    }
    const problem = failure ?? body?.problem ?? unclosed(raw);
    // A string that was never closed may have swallowed the end of its element.
    const rest = raw;
    const at = failure ? -1 : rest.indexOf(CLOSE);
    raw = at < 0 ? rest : rest.slice(0, at + CLOSE.length);
    giveUp(problem);
    if (at < 0) return;
    scan(rest.slice(at + CLOSE.length));
    if (inElement) endElement(cut);
  }

  function flush(): void {
    if (inElement || held === '') return;
    sink.text(held);
    held = '';
  }

  return {
    push: scan,
    /** A block of text is over: what was held back belongs to it. An element goes on in the next block. */
    flush,
    /** All text is over. `cut` says that the model was cut short. */
    end(cut: boolean): void {
      if (inElement) endElement(cut);
      flush();
    },
  };
}

/** How many of the last characters may be the beginning of `<tool>`. */
function openLength(text: string): number {
  for (let length = Math.min(OPEN.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(OPEN.slice(0, length))) return length;
  }
  return 0;
}

const isXml = (raw: string): boolean => raw.trimStart().startsWith('<');

const tooLarge = (raw: string): BodyProblem => ({
  reason: isXml(raw) ? 'invalid_xml' : 'invalid_json',
  message: `the call is larger than ${MAX_ELEMENT / 1024 / 1024} MB`,
});

const unclosed = (raw: string): BodyProblem => ({
  reason: isXml(raw) ? 'invalid_xml' : 'invalid_json',
  message: `${CLOSE} is missing, or something before it has no end`,
});

/** Finds `<tool>` elements in text that arrives in pieces, cut anywhere. The work per piece doesn't grow with what came before. */
export type Scanner = ReturnType<typeof elementScanner>;
