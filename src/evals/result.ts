import { computeWilson } from '../testing/wilson.ts';
import { defaultLimits, type EvalCall, type EvalDefinition, type EvalSession } from './define.ts';
import { isFulfilled, type Verdict } from './verdict.ts';

/** One run of a case with a model. */
export interface Trial extends Omit<EvalSession, 'messages' | 'calls'> {
	/** The name of the case. */
	readonly name: string;
	/** The number of the trial, from 1. */
	readonly trial: number;
	/** Whether it fulfilled all expectations. */
	readonly passed: boolean;
	/** Why the agent did not get to the end of the case. */
	readonly error?: string;
	readonly input: string;
	readonly output: string;
	readonly calls: readonly EvalCall[];
	readonly expectations: readonly Verdict[];
	readonly scores: readonly Verdict[];
}

/** A share of trials. */
export interface Rate {
	readonly passed: number;
	readonly count: number;
	/** `passed / count`. */
	readonly rate: number;
	/** Wilson's interval of 95 %, as if the trials were independent. */
	readonly interval: readonly [low: number, high: number];
}

/** A score over the trials of a model. */
export interface Mean {
	/** Missing if no trial has the score. */
	readonly mean?: number;
	readonly count: number;
	/** How many trials have an error in its place. */
	readonly errors: number;
}

/** What a model did in all its trials. */
export interface ModelResult {
	readonly model: string;
	readonly pass: Rate;
	readonly cases: ReadonlyMap<string, Rate>;
	readonly scores: ReadonlyMap<string, Mean>;
	/** The mean number of turns. */
	readonly steps: number;
	readonly tokens: number;
	/** US dollars of the agent. Missing if a price is unknown. */
	readonly costUsd?: number;
	/** US dollars of the judges. Missing if a price is unknown. */
	readonly judgeUsd?: number;
	/** The mean of milliseconds. */
	readonly ms: number;
}

/** A gate for a model. */
export interface GateResult {
	readonly model: string;
	/** `passRate`, or the name of a score. */
	readonly name: string;
	readonly passed: boolean;
	/** What is wrong. */
	readonly reason?: string;
}

/** The result of an eval. */
export interface EvalResult {
	readonly name: string;
	/** Whether all gates hold. */
	readonly passed: boolean;
	readonly trialCount: number;
	/** One for each model, in their order. */
	readonly models: readonly ModelResult[];
	readonly gates: readonly GateResult[];
	/** All trials, in the order of the cases. */
	readonly trials: readonly Trial[];
}

/** Sums up the trials of an eval, and applies its gates. */
export function summarize(
	{ name, agent, gates = {}, trialCount = defaultLimits.trialCount }: EvalDefinition,
	trials: readonly Trial[],
): EvalResult {
	const models = [...new Set(trials.map(({ model }) => model))].map((model) =>
		summarizeModel(
			model,
			trials.filter((trial) => trial.model === model),
		),
	);
	const least = Object.entries(gates.scores ?? {});
	const applied = models.flatMap((model) => [
		applyGate(model, 'passRate', findBelow(model.pass.rate, gates.passRate ?? 1)),
		...least.map(([score, min]) => applyGate(model, score, findProblem(model.scores.get(score), min))),
	]);
	const passed = applied.every((gate) => gate.passed);
	return { name: name ?? agent.name, passed, trialCount, models, gates: applied, trials };
}

function summarizeModel(model: string, trials: readonly Trial[]): ModelResult {
	const names = [...new Set(trials.map(({ name }) => name))];
	const verdicts = trials.flatMap(({ scores }) => scores);
	const judged = trials.flatMap(({ expectations, scores }) =>
		[...expectations, ...scores].flatMap((one) => one.judge ?? []),
	);
	const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
	return {
		model,
		pass: toRate(trials),
		cases: new Map(names.map((name) => [name, toRate(trials.filter((trial) => trial.name === name))])),
		scores: new Map([...new Set(verdicts.map(({ name }) => name))].map((name) => [name, toMean(verdicts, name)])),
		steps: sum(trials.map(({ steps }) => steps)) / trials.length,
		tokens: sum(trials.map(({ tokens }) => tokens)),
		costUsd: sumKnown(trials),
		judgeUsd: sumKnown(judged),
		ms: sum(trials.map(({ ms }) => ms)) / trials.length,
	};
}

/** Adds costs. Returns undefined if one is unknown. */
function sumKnown(costs: readonly { readonly costUsd?: number }[]): number | undefined {
	return costs.reduce<number | undefined>(
		(sum, { costUsd }) => (sum === undefined || costUsd === undefined ? undefined : sum + costUsd),
		0,
	);
}

function toRate(trials: readonly Trial[]): Rate {
	const passed = trials.filter((trial) => trial.passed).length;
	const count = trials.length;
	return { passed, count, rate: count === 0 ? 0 : passed / count, interval: computeWilson(passed, count) };
}

function toMean(verdicts: readonly Verdict[], name: string): Mean {
	const own = verdicts.filter((verdict) => verdict.name === name);
	const numbers = own.flatMap(({ score }) => score ?? []);
	const errors = own.filter(({ error }) => error !== undefined).length;
	const mean = numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
	return { count: numbers.length, errors, ...(numbers.length > 0 && { mean }) };
}

function findBelow(value: number, min: number): string | undefined {
	return value >= min ? undefined : `${toFigures(value)} is below ${min}.`;
}

/** Describes what keeps a score from its gate. An error counts as a failure, because the mean does not have it. */
function findProblem(score: Mean | undefined, min: number): string | undefined {
	if (score === undefined || (score.mean === undefined && score.errors === 0)) return 'no trial has this score.';
	if (score.errors > 0) return `${score.errors} of ${score.errors + score.count} scores are errors.`;
	return findBelow(score.mean ?? 0, min);
}

function applyGate({ model }: ModelResult, name: string, reason: string | undefined): GateResult {
	return { model, name, passed: reason === undefined, ...(reason !== undefined && { reason }) };
}

/** Writes a number with at most two decimal places, rounded down, so that a value below a gate never looks equal. */
function toFigures(value: number): string {
	return String(Math.floor(value * 100 + 1e-9) / 100);
}

/** Lists what is wrong with a trial, one line each. */
export function listProblems({ error, expectations, scores }: Trial): readonly string[] {
	const missed = expectations.filter((verdict) => !isFulfilled(verdict)).map(describeVerdict);
	const broken = scores.filter((verdict) => verdict.error !== undefined).map(describeVerdict);
	return [...(error === undefined ? [] : [error]), ...missed, ...broken];
}

function describeVerdict({ name, score, error, reason }: Verdict): string {
	const what = error === undefined ? (reason ?? `the score is ${score}.`) : `error: ${error}`;
	return `${name}: ${what}`;
}
