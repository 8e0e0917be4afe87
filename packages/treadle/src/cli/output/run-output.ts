import type { Agent, RunResult, TreadleEvent } from '@treadle/core';

import { shortId } from '../sessions/folder-sessions.ts';
import { cost, counted, duration, tokens } from './figures.ts';
import type { CliIo, Printer } from '../io.ts';
import { reportedDenials } from '../asking/permissions.ts';
import { plainText } from '../asking/plain-text.ts';
import type { OutputFormat } from '../run/request.ts';
import { styleFor } from '../style.ts';
import { createTextOutput } from './text-output.ts';

/** What is known when a run is over. */
export interface RunReport {
  readonly sessionId: string;
  readonly agent: Agent;
  readonly result: RunResult;
  readonly durationMs: number;
}

/** One of the formats of `--output-format`. */
export interface RunOutput {
  take(event: TreadleEvent): void;
  end(report: RunReport): void;
}

export function createRunOutput(
  format: OutputFormat,
  {
    io,
    out,
    agent,
    note,
  }: { readonly io: CliIo; readonly out: Printer; readonly agent: Agent; note(text: string): void },
): RunOutput {
  if (format === 'events') {
    return { take: (event) => out.print(`${eventLine(event)}\n`), end() {} };
  }
  if (format === 'json') {
    return { take() {}, end: (report) => out.print(`${JSON.stringify(finalObject(report))}\n`) };
  }
  const style = styleFor(out.isTTY, io.env);
  const label = (toolName: string): string => agent.tools.get(toolName)?.label ?? toolName;
  const watched = out.isTTY ? { after: io.after.bind(io) } : {};
  const text = createTextOutput({ out, note, style, label, showPrompts: false, ...watched });
  return {
    take: text.take,
    end(report) {
      text.breakOff();
      out.print(`${style.dim(summaryLine(report))}\n`);
      const { message } = report.result;
      if (report.result.status !== 'completed') note(plainText(message ?? `The run ended: ${report.result.status}.`));
    },
  };
}

/** The event as it is, without the arguments parsed so far: they'd be repeated whole with every delta. */
function eventLine(event: TreadleEvent): string {
  if (event.type !== 'message_delta' || event.partial === undefined) return JSON.stringify(event);
  const { partial: _, ...rest } = event;
  return JSON.stringify(rest);
}

function summaryLine({ result, agent, sessionId, durationMs }: RunReport): string {
  return [
    counted(result.turns, 'turn'),
    tokens(result.usage),
    cost(result.cost),
    duration(durationMs),
    `${agent.model.provider}/${agent.model.id}`,
    `session ${shortId(sessionId)}`,
  ].join(' · ');
}

function finalObject({ sessionId, agent, result, durationMs }: RunReport): object {
  const { provider, id } = agent.model;
  return { sessionId, provider, model: id, ...result, durationMs, permissionDenials: reportedDenials(result) };
}
