import type { Agent } from '../cloudflare/agent/define.ts';
import { isRecord } from '../core/base/json.ts';
import type { MessagePart } from '../core/index.ts';
import type { TestSessionOptions } from '../testing/index.ts';
import type { Judge } from './judge.ts';

/** What a person does in a turn of a case: sends a message, or answers calls that wait, by the name of the tool. */
export type Turn =
	| string
	| { readonly parts: readonly MessagePart[] }
	| { readonly approve: string; readonly input?: Readonly<Record<string, unknown>> }
	| { readonly deny: string; readonly reason?: string }
	| { readonly result: string; readonly output: unknown };

/** What a case may replace of the session's beginning. */
type Beginning = Pick<
	TestSessionOptions,
	'script' | 'user' | 'metadata' | 'skillContext' | 'files' | 'state' | 'memories'
>;

/** A call of a recording, with its result. */
export interface RecordedResult {
	readonly tool: string;
	readonly input: unknown;
	readonly result: {
		readonly content: unknown;
		readonly isError?: boolean;
		readonly parts?: readonly MessagePart[];
		/** What the call asked first. */
		readonly question?: { readonly question: string; readonly options?: Readonly<Record<string, unknown>> };
	};
}

/** A case: what people say to the agent, and what is expected of its answer. */
export interface EvalCase<Expected = unknown> extends Beginning {
	/** The name in reports. The default is its number. */
	readonly name?: string;
	/** The message, or the turns of a conversation. */
	readonly input: string | readonly Turn[];
	/** The right answer, for scorers. */
	readonly expected?: Expected;
	/** What only this case must fulfil. */
	readonly expect?: readonly Check<Expected>[];
	/** The scores of this case only. */
	readonly scores?: readonly Check<Expected>[];
	/** The recorded results that tools give in place of running. `fromRecording` fills them in. */
	readonly recorded?: readonly RecordedResult[];
}

/** Reads cases when the eval runs. */
export type CaseSource<Expected = unknown> = () =>
	| readonly EvalCase<Expected>[]
	| Promise<readonly EvalCase<Expected>[]>;

/** A call that the model made. A call without a result has no `output`. */
export interface EvalCall {
	readonly name: string;
	readonly input: unknown;
	readonly output?: unknown;
	readonly isError?: boolean;
}

/** A message of the conversation. */
export interface EvalMessage {
	readonly role: 'system' | 'user' | 'assistant' | 'tool';
	readonly content: unknown;
	readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
	readonly toolCallId?: string;
	readonly isError?: boolean;
}

/** What the agent did in a trial. */
export interface EvalSession {
	readonly model: string;
	/** How the last run ended, such as `completed` or `awaiting_tools`. */
	readonly status: string;
	readonly messages: readonly EvalMessage[];
	/** The calls of the model, in their order. */
	readonly calls: readonly EvalCall[];
	/** The number of the model's turns. */
	readonly steps: number;
	/** The tokens of the agent and its children, input and output together. */
	readonly tokens: number;
	/** US dollars, with those of the children. Missing if a price is unknown. */
	readonly costUsd?: number;
	/** The model without a known price. */
	readonly unpriced?: string;
	/** Milliseconds. */
	readonly ms: number;
}

/** What a scorer gets. Scorers of autoevals read the first three fields. */
export interface ScorerArgs<Expected = unknown> {
	/** The texts that people sent, one line each. */
	readonly input: string;
	/** The last answer of the model. */
	readonly output: string;
	readonly expected?: Expected;
	readonly session: EvalSession;
}

/**
 * Judges a trial. Returns nothing or `true` (1), `false` (0), a number from 0 to 1, or `{ name?, score, metadata? }`.
 * A score of `null` does not count.
 */
export type Scorer<Expected = unknown> = {
	// A method type also allows scorers that read only some of the fields.
	score(args: ScorerArgs<Expected>): unknown;
}['score'];

/** An expectation or a score: a function, or a model that judges. */
export type Check<Expected = unknown> = Scorer<Expected> | Judge;

/** The least values that each model has to reach. */
export interface Gates {
	/** The least share of trials that fulfil all expectations. The default is 1. */
	readonly passRate?: number;
	/** The least mean of scores, by name. */
	readonly scores?: Readonly<Record<string, number>>;
}

/** An eval (docs/evals.md). Its sessions begin with the options of a test session. */
export interface EvalDefinition<Expected = unknown> extends Omit<TestSessionOptions, 'model' | 'signal'> {
	/** The name in reports. The default is the agent's. */
	readonly name?: string;
	readonly agent: Agent;
	readonly cases: readonly (EvalCase<Expected> | CaseSource<Expected>)[];
	/** What each case must fulfil: a score of 1. */
	readonly expect?: readonly Check<Expected>[];
	/** How good each answer is, from 0 to 1. Reports have the means. */
	readonly scores?: readonly Check<Expected>[];
	readonly gates?: Gates;
	/** The models to compare. The default is the agent's model. */
	readonly models?: readonly string[];
	/** How often each case runs with each model. The default is 1. */
	readonly trialCount?: number;
	/** How many trials run at the same time. The default is 4. */
	readonly maxConcurrency?: number;
	/** The time limit of a trial in milliseconds. The default is 120,000. */
	readonly timeoutMs?: number;
}

/** The limits of an eval that names none. */
export const defaultLimits = { trialCount: 1, maxConcurrency: 4, timeoutMs: 120_000 } as const;

/** Defines an eval, for a file `*.eval.ts` that `npx runlet evals` runs. */
export function defineEval<Expected = unknown>(definition: EvalDefinition<Expected>): EvalDefinition<Expected> {
	return definition;
}

/** Whether a value is an eval, such as an export of a file. */
export function isDefinition(value: unknown): value is EvalDefinition {
	return isRecord(value) && Array.isArray(value.cases) && isRecord(value.agent) && typeof value.agent.name === 'string';
}
