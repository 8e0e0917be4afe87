import { AGAIN_ROUTES } from '../again.ts';
import { BRANCH_ROUTES } from '../branches.ts';
import { CHANGE_ROUTES } from '../changes.ts';
import { ANSWER_ROUTES } from '../answers.ts';
import { FILE_ROUTES } from '../files.ts';
import { READ_ROUTES } from '../reads.ts';
import type { Route } from './route.ts';
import { RUN_ROUTES } from '../runs.ts';
import { SESSION_ROUTES } from '../sessions.ts';
import { TASK_ROUTES } from '../tasks.ts';
import { CHAT_PROTOCOL_ROUTES } from '../chat-protocols.ts';

/** The whole API, in the order in which it is described. */
export const ROUTES: readonly Route[] = [
  ...SESSION_ROUTES,
  ...RUN_ROUTES,
  ...AGAIN_ROUTES,
  ...BRANCH_ROUTES,
  ...CHANGE_ROUTES,
  ...ANSWER_ROUTES,
  ...TASK_ROUTES,
  ...READ_ROUTES,
  ...FILE_ROUTES,
  ...CHAT_PROTOCOL_ROUTES,
];
