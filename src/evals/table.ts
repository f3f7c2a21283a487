import { formatDollars, replaceControls } from '../core/base/text.ts';
import { type EvalResult, listProblems, type Mean, type ModelResult, type Rate } from './result.ts';

/** A table with a column for each model. The first cell of a row is its name. */
export interface Table {
	readonly head: readonly string[];
	readonly rows: readonly (readonly string[])[];
}

/** Makes the table of an eval: a row for each case, and then for all that was measured. */
export function toTable({ models, trials, trialCount }: EvalResult): Table {
	const row = (name: string, toCell: (model: ModelResult) => string) => [name, ...models.map(toCell)];
	const cases = [...new Set(trials.map(({ name }) => name))];
	const scores = [...new Set(models.flatMap((model) => [...model.scores.keys()]))];
	const hasJudges = trials.some((trial) => [...trial.expectations, ...trial.scores].some(({ judge }) => judge));
	return {
		head: row('', ({ model }) => model),
		rows: [
			...cases.map((name) => row(name, (model) => showCase(model.cases.get(name), trialCount))),
			row('pass rate', ({ pass }) => showRate(pass, trialCount)),
			...scores.map((name) => row(name, (model) => showMean(model.scores.get(name)))),
			row('steps', ({ steps }) => steps.toFixed(1)),
			row('tokens', ({ tokens }) => String(tokens)),
			row('cost', ({ costUsd }) => showDollars(costUsd)),
			...(hasJudges ? [row('judges', ({ judgeUsd }) => showDollars(judgeUsd))] : []),
			row('time', ({ ms }) => `${(ms / 1000).toFixed(1)} s`),
		],
	};
}

function showCase(rate: Rate | undefined, trialCount: number): string {
	if (rate === undefined) return '';
	return trialCount > 1 ? showRate(rate, trialCount) : rate.passed === 1 ? 'passed' : 'failed';
}

/** Writes a share, with its interval if each case ran several times. */
function showRate({ passed, count, interval: [low, high] }: Rate, trialCount: number): string {
	const interval = trialCount > 1 ? ` ${Math.floor(low * 100)}–${Math.ceil(high * 100)} %` : '';
	return `${passed}/${count}${interval}`;
}

function showMean({ mean, errors }: Mean = { count: 0, errors: 0 }): string {
	const broken = errors > 0 ? ` (${errors} errors)` : '';
	return `${mean === undefined ? '–' : mean.toFixed(2)}${broken}`;
}

function showDollars(usd: number | undefined): string {
	return usd === undefined ? 'unknown' : formatDollars(usd);
}

/** Lists what failed, one line each: the trials, then the gates. */
export function listFailures({ trials, gates, trialCount }: EvalResult): readonly string[] {
	const failed = trials.flatMap((trial) => {
		const which = trialCount > 1 ? `, trial ${trial.trial}` : '';
		return listProblems(trial).map((problem) => `${trial.name}, ${trial.model}${which}: ${problem}`);
	});
	const unreached = gates.flatMap(({ model, name, reason }) =>
		reason === undefined ? [] : [`${model}: gate ${name}: ${reason}`],
	);
	return [...failed, ...unreached];
}

/** Writes an eval for a terminal. */
export function toText(result: EvalResult): string {
	const { head, rows } = toTable(result);
	const all = [head, ...rows];
	const widths = head.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)));
	const lines = all.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '));
	// A text of a model must not move the cursor, and must not begin a line of its own.
	return [...lines, ...listFailures(result)].map((line) => `  ${toLine(line).trimEnd()}`).join('\n');
}

function toLine(text: string): string {
	return replaceControls(text).replace(/\s*[\t\r\n\u2028\u2029]\s*/g, ' ');
}
