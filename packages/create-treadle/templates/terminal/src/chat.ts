import type { Run, Session } from 'treadle';

/** How the chat reaches the person. */
export interface Person {
  ask(question: string): Promise<string>;
  write(text: string): void;
}

/** Follows a run, and asks the person before each call that needs approval, until nothing waits for an answer. */
export async function follow(session: Session, run: Run | null, person: Person): Promise<void> {
  if (run !== null) await show(run, person);
  const call = session.pending.find((each) => each.type === 'approval');
  if (call === undefined) return;
  const answer = await person.ask(`Run ${call.toolName} ${JSON.stringify(call.arguments)}? (y/n) `);
  const next = answer.startsWith('y') ? session.approve(call) : session.reject(call, 'The user said no.');
  await follow(session, next, person);
}

/** Prints the text of the model as it comes, and the name of each tool that runs. */
async function show(run: Run, { write }: Person): Promise<void> {
  for await (const event of run) {
    if (event.type === 'message_delta' && event.kind === 'text') write(event.text);
    if (event.type === 'tool_started') write(`\n[${event.toolName}]\n`);
  }
  const { status, error } = await run.result;
  if (error) write(`\n${status}: ${error.message}`);
  write('\n');
}
