/** `runlet/testing`: tests of your own agents, without a Worker (docs/testing.md). */

export { readSkills } from '../command/skills/read.ts';
export type { Divergence, DivergenceKind } from '../replay/divergence.ts';
export { type Recording, readRecording } from '../replay/recording.ts';
export { redact } from '../replay/redact.ts';
export { compareReplay, type Replay, ReplayError, replay } from '../replay/replay.ts';
export type { ReplayOptions, ToolAnswers } from '../replay/session.ts';
export type { RecordedAnswer } from './candidate/answers.ts';
export { type Comparison, compareCandidates, type Lane, type RecordedLane } from './candidate/compare.ts';
export type { Estimate, FigureEstimates, Figures, Share } from './candidate/figures.ts';
export type { Candidate, CandidateOptions } from './candidate/options.ts';
export { writeComparison } from './candidate/report.ts';
export type { Trial } from './candidate/session.ts';
export type { CandidateCall } from './candidate/tools.ts';
export { type Clock, stopClock } from './clock.ts';
export type { PendingCall, Person, TestChild, TestServers, TestSession, TestSessionOptions } from './options.ts';
export { callTool, callTools } from './options.ts';
export { readProviders } from './providers.ts';
export { createTestSession } from './session.ts';
