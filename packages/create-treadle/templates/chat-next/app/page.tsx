import { chat } from '../lib/chat.ts';
import { Chat } from './chat.tsx';

// The token is of this process, so the page is rendered for each request.
export const dynamic = 'force-dynamic';

export default function Page() {
  return <Chat token={chat().token} />;
}
