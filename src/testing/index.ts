/** `runlet/testing`: tests of an agent of your own, without a Worker (docs/testing.md). */

export { type Clock, stopClock } from './clock.ts';
export type { PendingCall, TestChild, TestSession, TestSessionOptions } from './options.ts';
export type { Person } from './people.ts';
export { callTool, callTools } from './script.ts';
export type { TestServers } from './servers.ts';
export { createTestSession } from './session.ts';
export { readSkills } from './skills.ts';
