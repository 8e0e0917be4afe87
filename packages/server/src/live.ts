// Live text of sessions, for programs that show sessions without a server.
export { sharedFeed, type SharedFeed, type SharedFeedOptions } from './dispatch/shared-feed.ts';
export { followSession, type FollowOptions } from './streams/follow.ts';
