import type { FilesGeneratedEvent } from '../../events/generated-files.ts';
import type { Fold } from '../../kernel/fold.ts';
import { fileIdsIn, mayNameFiles } from '../../messages/file-ids.ts';
import type { AssistantMessage } from '../../messages/message.ts';
import type { RunState, SessionState } from '../../kernel/state.ts';
import { forgetReads, noteReads } from './reduce-reads.ts';

/** Files of one run that are fetched, and those of a session that are known, at most. */
const MOST_FILES_OF_RUN = 100;
const MOST_KEPT_FILES = 1000;

export const filesFold: Fold = {
  before(state, event) {
    if (event.type === 'turn_ended') {
      if (state.run?.turn) noteReads(state.reads, state.run.turn);
    } else if (event.type === 'compacted') forgetReads(state, state.view, event.view);
    else if (event.type === 'run_ended' && event.handoff?.view) forgetReads(state, state.view, event.handoff.view);
  },
  after(state, event) {
    if (event.type === 'message_added') {
      if (state.run && event.message.role === 'assistant') noteFiles(state.run, event.message);
    } else if (event.type === 'files_generated') filesGenerated(state, event);
  },
};

/** Notes the files that a reply's results of provider tools name. */
function noteFiles(run: RunState, { provider, content }: AssistantMessage): void {
  if (!mayNameFiles(content)) return;
  for (const fileId of fileIdsIn(content)) {
    const turn = run.turn?.index ?? Math.max(0, run.turns - 1);
    const seen = (run.seenFiles ??= []);
    const known = seen.find((file) => file.fileId === fileId && file.provider === provider);
    if (known) known.lastTurn = turn;
    else if (seen.length < MOST_FILES_OF_RUN) seen.push({ fileId, provider, firstTurn: turn, lastTurn: turn });
  }
}

/** What was told of is no longer waiting; what is kept needn't be fetched again, of so many as are remembered. */
function filesGenerated(state: SessionState, { runId, files }: FilesGeneratedEvent): void {
  const isSame = (file: { readonly fileId: string; readonly provider: string }) => (other: typeof file) =>
    other.fileId === file.fileId && other.provider === file.provider;
  const { run } = state;
  if (run?.runId === runId && run.seenFiles) {
    const left = run.seenFiles.filter((seen) => !files.some(isSame(seen)));
    if (left.length > 0) run.seenFiles = left;
    else delete run.seenFiles;
  }
  for (const file of files) {
    const { fileId, provider, name, mediaType, blob } = file;
    if (!blob) continue;
    const others = (state.keptFiles ?? []).filter((kept) => !isSame(file)(kept));
    const more = { ...(name === undefined ? {} : { name }), ...(mediaType === undefined ? {} : { mediaType }) };
    state.keptFiles = [...others, { fileId, provider, ...more, blob }].slice(-MOST_KEPT_FILES);
  }
}
