/** `runlet/testing`: tests of your own agents, without a Worker (docs/testing.md). */

export { type Clock, stopClock } from './clock.ts';
export type { PendingCall, Person, TestChild, TestServers, TestSession, TestSessionOptions } from './options.ts';
export { callTool, callTools } from './options.ts';
export { createTestSession } from './session.ts';
export { readSkills } from './skills.ts';
