/** `runlet/evals`: asks whether agents are good enough, with real models (docs/evals.md). It needs Node. */

export { fromJsonl, fromRecording } from './cases.ts';
export {
	type CaseSource,
	type Check,
	defineEval,
	type EvalCall,
	type EvalCase,
	type EvalDefinition,
	type EvalMessage,
	type EvalSession,
	type Gates,
	type Scorer,
	type ScorerArgs,
	type Turn,
} from './define.ts';
export { calledTool, costBelow, type Expectation, neverCalled, output, stepsBelow } from './expectations.ts';
export { type Judge, type JudgeOptions, judge } from './judge.ts';
export type { EvalResult, GateResult, Mean, ModelResult, Rate, Trial } from './result.ts';
export { type RunEvalOptions, runEval } from './run.ts';
export type { EvalServer } from './server.ts';
export type { Verdict } from './verdict.ts';
