import { chat } from '../../../lib/chat.ts';

const handler = (request: Request) => chat().server.fetch(request);

export { handler as GET, handler as POST };
