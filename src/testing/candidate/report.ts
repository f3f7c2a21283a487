import type { Comparison, Lane } from './compare.ts';
import type { Estimate, FigureEstimates, Figures } from './figures.ts';
import type { Trial } from './session.ts';
import type { CandidateCall } from './tools.ts';

const columns = ['', 'ended', 'steps', 'tokens', 'dollars', 'seconds', 'calls', 'unanswered', 'writes'] as const;

/** Writes a comparison for a person: a table of the lanes, and the calls without a recorded answer. */
export function writeComparison({ recorded, baseline, candidates }: Comparison): string {
	const { replay, lane } = baseline;
	const replayed = replay === undefined ? 'no agent' : replay.divergence === undefined ? 'same' : 'different';
	const lanes = [
		...(lane === undefined ? [] : [[`${lane.model} again`, lane] as const]),
		...candidates.map((one) => [toName(one, candidates), one] as const),
	];
	const rows = [
		columns,
		['recorded', recorded.end, ...writeFigures(toEstimates(recorded.figures))],
		['baseline', replayed],
		...lanes.map(([name, one]) => toRow(name, one)),
	];
	return [
		...align(rows),
		...(replay?.divergence === undefined ? [] : [`The baseline differs first at ${replay.divergence.field}.`]),
		...describeAnswer(recorded.text).map((answer) => `recorded: ${answer}`),
		...lanes.flatMap(([name, one]) => describeLane(name, one)),
		'A live model is a sample and no proof: the next run may differ. In brackets: 95 % intervals over the runs.',
	].join('\n');
}

/** Names a lane by its model. Lanes of one model also have their agents. */
function toName({ model, agent }: Lane, lanes: readonly Lane[]): string {
	return lanes.filter((lane) => lane.model === model).length > 1 ? `${model} (${agent})` : model;
}

function toRow(name: string, { done, trials, figures, unanswered, writes }: Lane): readonly string[] {
	const share = (part: number) => Math.round(100 * part);
	const interval = trials.length > 1 ? ` (${share(done.low)} to ${share(done.high)} %)` : '';
	const ended = trials.length === 1 ? (trials[0]?.end ?? '') : `${done.count} of ${done.of}${interval}`;
	return [name, ended, ...writeFigures(figures), writeEstimate(unanswered, toShort), writeEstimate(writes, toShort)];
}

function toEstimates({ steps, calls, tokens, usd, seconds }: Figures): FigureEstimates {
	return {
		...{ steps: { mean: steps }, calls: { mean: calls }, tokens: { mean: tokens }, seconds: { mean: seconds } },
		...(usd !== undefined && { usd: { mean: usd } }),
	};
}

function writeFigures({ steps, tokens, usd, seconds, calls }: FigureEstimates): readonly string[] {
	const dollars = usd === undefined ? 'unknown' : writeEstimate(usd, toDollars);
	return [
		writeEstimate(steps, toShort),
		writeEstimate(tokens, (value) => String(Math.round(value))),
		dollars,
		writeEstimate(seconds, toShort),
		writeEstimate(calls, toShort),
	];
}

/** Writes a mean with its interval, or alone if both ends are written like it. */
function writeEstimate({ mean, low, high }: Estimate, write: (value: number) => string): string {
	const written = write(mean);
	if (low === undefined || high === undefined) return written;
	const [from, to] = [write(low), write(high)];
	return from === written && to === written ? written : `${written} (${from} to ${to})`;
}

function toShort(value: number): string {
	return String(Math.round(10 * value) / 10);
}

function toDollars(value: number): string {
	return `$${value === 0 ? '0' : value.toPrecision(2)}`;
}

function align(rows: readonly (readonly string[])[]): readonly string[] {
	const widths = columns.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
	return rows.map((row) =>
		row
			.map((cell, at) => cell.padEnd(widths[at] ?? 0))
			.join('  ')
			.trimEnd(),
	);
}

/** Describes what differs in the runs of a lane. What is equal in several runs is said once. */
function describeLane(name: string, { trials }: Lane): readonly string[] {
	const counts = new Map<string, number>();
	for (const text of trials.flatMap((trial) => [...new Set(describeTrial(trial))]))
		counts.set(text, 1 + (counts.get(text) ?? 0));
	const { length } = trials;
	return [...counts].map(([text, count]) =>
		length === 1 ? `${name}: ${text}` : `${name}, in ${count} of ${length} runs: ${text}`,
	);
}

function describeTrial({ calls, missed, error, text }: Trial): readonly string[] {
	return [
		...describeAnswer(text),
		...calls.flatMap(describeCall),
		...(error === undefined
			? missed.map(({ tool, input }) => `did not make the recorded call ${writeCall(tool, input)}.`)
			: [`ended with ${error.code}. ${error.message}`]),
	];
}

const outcomes: Readonly<Record<CandidateCall['answeredBy'], string | undefined>> = {
	recording: undefined,
	function: undefined,
	tool: 'has no recorded answer. It ran, because it only reads.',
	agent: 'has no recorded answer. The agent worked.',
	runlet: 'was refused: there is no such tool, or its arguments are wrong.',
	nobody: 'has no recorded answer, and did not run.',
};

/** Shows the last answer in one line. */
function describeAnswer(text: string): readonly string[] {
	return text === '' ? [] : [`answered ${cut(JSON.stringify(text))}`];
}

function describeCall({ path, tool, input, answeredBy, isWrite, nearest }: CandidateCall): readonly string[] {
	const outcome = outcomes[answeredBy];
	if (outcome === undefined) return [];
	const inside = path.length > 1 ? `in ${path.join(' > ')}, ` : '';
	const write = answeredBy === 'nobody' && isWrite ? ' It may write.' : '';
	return [`${inside}${writeCall(tool, input)} ${outcome}${write}${describeNearest(nearest)}`];
}

function describeNearest(nearest: CandidateCall['nearest']): string {
	if (nearest === undefined) return '';
	const distance = Math.round(100 * nearest.distance);
	if (distance === 0) return '\n  The same call was recorded less often.';
	return `\n  The nearest recorded call is ${distance} % different: ${cut(JSON.stringify(nearest.input) ?? '')}`;
}

/** The most characters of arguments in a report. */
const longest = 300;

function writeCall(tool: string, input: unknown): string {
	return `${tool}(${cut(JSON.stringify(input) ?? '')})`;
}

function cut(text: string): string {
	return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
