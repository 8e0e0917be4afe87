import type { DurableEvent } from '../events/events.ts';
import type { GeneratedFile } from '../events/generated-files.ts';

/** Where a file was seen. */
export interface FileSighting {
  readonly runId: string;
  /** From 0 in each run. */
  readonly turnIndex: number;
}

/** A file of a session's registry. */
export interface RegisteredFile extends Pick<
  GeneratedFile,
  'fileId' | 'provider' | 'name' | 'mediaType' | 'blob' | 'error'
> {
  readonly firstSeen: FileSighting;
  readonly lastSeen: FileSighting;
  /** In milliseconds since 1970: when it was first and last recorded. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** What keeps it: `Blobs.backend`; null while its bytes couldn't be had. */
  readonly backend: string | null;
}

/** Folds a log into the registry of its files. */
export interface GeneratedFilesFold {
  take(event: DurableEvent): void;
  /** In the order they were first seen. */
  files(): readonly RegisteredFile[];
}

/** Starts the fold. Feed it the events of one session in order; all but `files_generated` are passed over. */
export function generatedFilesFold(): GeneratedFilesFold {
  const registry = new Map<string, RegisteredFile>();
  return {
    take(event) {
      if (event.type !== 'files_generated') return;
      const { runId, at, backend } = event;
      for (const { firstTurn, lastTurn, isUpdate: _, ...file } of event.files) {
        const key = `${file.provider}\0${file.fileId}`;
        const known = registry.get(key);
        registry.set(key, {
          ...file,
          firstSeen: known?.firstSeen ?? { runId, turnIndex: firstTurn },
          lastSeen: { runId, turnIndex: lastTurn },
          createdAt: known?.createdAt ?? at,
          updatedAt: at,
          backend: file.blob ? backend : null,
        });
      }
    },
    files: () => [...registry.values()],
  };
}

/**
 * The files that the provider's own tools made in a session, from its log. `docs/files.md` has an example.
 */
export function generatedFiles(events: Iterable<DurableEvent>): readonly RegisteredFile[] {
  const fold = generatedFilesFold();
  for (const event of events) fold.take(event);
  return fold.files();
}
