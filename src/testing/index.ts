/** `runlet/testing`: tests of an agent of your own, without a Worker (docs/testing.md). */

export { type Clock, stopClock } from './clock.ts';
export { callTool, callTools } from './script.ts';
export { createTestSession, type TestSession, type TestSessionOptions } from './session.ts';
