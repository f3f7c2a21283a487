import { RunletError, toMessageText } from '../core/base/errors.ts';
import { raceAbort } from '../core/base/promises.ts';
import type { JudgeBench } from './ask-judge.ts';
import type { NamedCase } from './cases.ts';
import { type Conversation, listCalls, type Observed, play } from './conversation.ts';
import { decide } from './decide.ts';
import type { Check, EvalDefinition, EvalSession, ScorerArgs } from './define.ts';
import type { Trial } from './result.ts';
import { isFulfilled, type Verdict } from './verdict.ts';

/** What all trials of an eval share. */
export interface Bench extends Omit<JudgeBench, 'signal'> {
	readonly definition: EvalDefinition;
	/** Opens a session of the agent. */
	readonly open: (one: NamedCase, model: string, signal: AbortSignal) => Conversation | Promise<Conversation>;
}

export interface Job {
	readonly one: NamedCase;
	readonly model: string;
	/** The number of the trial, from 1. */
	readonly trial: number;
}

/** Runs a case once, and judges it. Never rejects. The agent, the end of its session and the scorers have the time limit each. */
export async function runTrial({ one, model, trial }: Job, bench: Bench, timeoutMs: number): Promise<Trial> {
	const { expect = [], scores = [] } = bench.definition;
	const { session, error } = await playCase(one, model, bench, timeoutMs);
	const { messages, calls, ...figures } = session;
	const output = String(messages.findLast(({ role }) => role === 'assistant')?.content ?? '');
	const args = { input: toText(one), output, expected: one.expected, session };
	const judgeAll = (checks: readonly Check[], kind: string): Promise<readonly Verdict[]> => {
		const named = checks.map((check, at) => ({ check, name: check.name || `${kind} ${at + 1}` }));
		if (error !== undefined)
			return Promise.resolve(named.map(({ name }) => ({ name, score: null, error: 'The trial failed.' })));
		return within(timeoutMs, (signal) =>
			Promise.all(named.map(({ check, name }) => decideInTime(check, name, args, { ...bench, signal }))),
		);
	};
	const [expectations, given] = await Promise.all([
		error === undefined ? judgeAll([...expect, ...(one.expect ?? [])], 'expectation') : [],
		judgeAll([...scores, ...(one.scores ?? [])], 'score'),
	]);
	return {
		...{ name: one.name, trial, ...figures, input: args.input, output, calls, expectations, scores: given },
		passed: error === undefined && expectations.every(isFulfilled),
		...(error !== undefined && { error }),
	};
}

/** Calls a function with a signal that aborts after a time. */
async function within<Result>(ms: number, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
	const late = new AbortController();
	const timer = setTimeout(() => late.abort(new RunletError('timeout', `It took longer than ${ms} ms.`)), ms);
	try {
		return await work(late.signal);
	} finally {
		clearTimeout(timer);
	}
}

/** Like `decide`, with a time limit for functions that never end. */
function decideInTime(check: Check, name: string, args: ScorerArgs, bench: JudgeBench): Promise<Verdict> {
	return raceAbort(decide(check, name, args, bench), bench.signal).catch((error: unknown) => ({
		...{ name, score: null, error: toMessageText(error) },
	}));
}

/** Plays a case in a session of its own, and reads what the agent did, also if it failed. */
async function playCase(one: NamedCase, model: string, { open }: Bench, timeoutMs: number) {
	const begun = performance.now();
	let conversation: Conversation | undefined;
	let failure: unknown;
	const inTime = async <Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result | undefined> => {
		try {
			return await within(timeoutMs, (signal) => raceAbort(work(signal), signal));
		} catch (error) {
			failure ??= error;
			return undefined;
		}
	};
	await inTime(async (signal) => {
		conversation = await open(one, model, signal);
		await play(conversation, one);
	});
	const ms = performance.now() - begun;
	const nothing: Observed = { status: 'error', messages: [], tokens: 0, costUsd: 0 };
	const observed = (await inTime(async () => conversation?.read())) ?? nothing;
	// The session is also closed if it cannot be read.
	await inTime(async () => conversation?.close());
	const { messages } = observed;
	const steps = messages.filter(({ role }) => role === 'assistant').length;
	const about = { model: conversation?.model ?? model, calls: listCalls(messages), steps, ms };
	const session: EvalSession = { ...observed, ...about };
	return { session, ...(failure !== undefined && { error: toMessageText(failure) }) };
}

/** The texts that people sent, one line each. */
function toText({ input }: NamedCase): string {
	const turns = typeof input === 'string' ? [input] : input;
	const texts = turns.flatMap((turn) => {
		if (typeof turn === 'string') return [turn];
		return 'parts' in turn ? turn.parts.flatMap(({ text }) => text ?? []) : [];
	});
	return texts.join('\n');
}
