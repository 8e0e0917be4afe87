// What the page asks the server. The token is in a cookie that no script can read.

/** Closes a socket so that the server cancels what it makes. */
const CANCELLED = 4333;
const FINISHED = 1000;
const REFUSED = 4332;
const WAITS_MS = [300, 600, 1200, 2500, 5000];

/** True when the token is right. */
export async function signIn(token) {
  const response = await fetch('/login', { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  return response.ok;
}

/** The newest projects; null for a visitor who isn't signed in. */
export async function listProjects() {
  const response = await fetch('/projects');
  if (response.status === 401) return null;
  if (!response.ok) throw new Error(await problemOf(response));
  return (await response.json()).projects;
}

export async function showRun(project, variant, run) {
  const response = await fetch(`/projects/${project}/show`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ variant, run }),
  });
  if (!response.ok) throw new Error(await problemOf(response));
}

async function problemOf(response) {
  const problem = await response.json().catch(() => ({}));
  return problem.detail ?? problem.error?.message ?? problem.message ?? `The server answered with ${response.status}.`;
}

/** A name for a project, which nobody guesses. */
export const newProject = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Sends a message and hears of its project until nothing is at work there. A connection that breaks off is made anew, and the
 * server then tells all of it again. Returns a function that cancels the work.
 */
export function follow(request, { receive, lost, ended }) {
  let socket;
  let attempts = 0;
  let isOver = false;

  function connect(message) {
    const address = new URL('/generate-code', location.href);
    address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    socket = new WebSocket(address, ['treadle.v1']);
    socket.addEventListener('open', () => {
      attempts = 0;
      socket.send(JSON.stringify(message));
    });
    socket.addEventListener('message', ({ data }) => {
      if (!isOver) receive(JSON.parse(data));
    });
    socket.addEventListener('close', ({ code }) => {
      if (isOver) return;
      if (code === FINISHED || code === REFUSED || code === CANCELLED) {
        isOver = true;
        ended();
        return;
      }
      lost();
      const wait = WAITS_MS[Math.min(attempts, WAITS_MS.length - 1)];
      attempts += 1;
      // A change may have begun already: it is not asked for twice.
      const again = message.action === 'change' ? { action: 'join', project: message.project } : message;
      setTimeout(() => isOver || connect(again), wait);
    });
  }
  connect(request);

  return {
    cancel: () => socket.close(CANCELLED, 'cancelled'),
    leave() {
      isOver = true;
      socket.close(FINISHED, 'left');
    },
  };
}
