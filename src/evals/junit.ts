import { type EvalResult, listProblems, type ModelResult, type Trial } from './result.ts';

/** An eval and the file that defines it. */
export interface NamedResult {
	readonly file: string;
	readonly result: EvalResult;
}

/**
 * Writes a report in the JUnit format, for CI systems. It has a failure exactly if a gate does not hold: in a model
 * whose gates hold, a failed trial is skipped.
 */
export function toJunit(results: readonly NamedResult[]): string {
	const suites = results.flatMap(({ file, result }) => result.models.map((model) => writeSuite(file, result, model)));
	return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('')}</testsuites>\n`;
}

function writeSuite(file: string, { name, gates, trials, trialCount }: EvalResult, { model }: ModelResult): string {
	const own = trials.filter((trial) => trial.model === model);
	const rules = gates.filter((gate) => gate.model === model);
	const hold = rules.every(({ passed }) => passed);
	const about = (title: string, ms: number) => ({ classname: `${name}.${model}`, name: title, time: toSeconds(ms) });
	const cases = [
		...own.map((trial) => {
			const title = trialCount > 1 ? `${trial.name} (${trial.trial} of ${trialCount})` : trial.name;
			return element('testcase', about(title, trial.ms), trial.passed ? '' : writeFailure(trial, hold));
		}),
		...rules.map(({ name: gate, reason }) =>
			element(
				'testcase',
				about(`gate ${gate}`, 0),
				reason === undefined ? '' : element('failure', { message: reason, type: 'gate' }, escapeXml(reason)),
			),
		),
	];
	const failed = hold ? 0 : own.filter(({ passed, error }) => !passed && error === undefined).length;
	const counts = {
		tests: cases.length,
		failures: failed + rules.filter(({ passed }) => !passed).length,
		errors: hold ? 0 : own.filter(({ error }) => error !== undefined).length,
		skipped: hold ? own.filter(({ passed }) => !passed).length : 0,
	};
	const time = toSeconds(own.reduce((sum, { ms }) => sum + ms, 0));
	return element('testsuite', { name: `${file} ${model}`, ...counts, time }, `\n${cases.join('')}`);
}

function writeFailure(trial: Trial, isWithinGates: boolean): string {
	const problems = listProblems(trial);
	const message = problems[0] ?? '';
	if (isWithinGates) return element('skipped', { message: `Failed, within the gates: ${problems.join(' ')}` }, '');
	const text = escapeXml([...problems, '', `Answer: ${trial.output}`].join('\n'));
	return trial.error === undefined
		? element('failure', { message, type: 'expectation' }, text)
		: element('error', { message, type: 'trial' }, text);
}

function element(name: string, attributes: Readonly<Record<string, string | number>>, content: string): string {
	const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`);
	return content === '' ? `<${name}${written.join('')}/>\n` : `<${name}${written.join('')}>${content}</${name}>\n`;
}

function toSeconds(ms: number): string {
	return (ms / 1000).toFixed(3);
}

const named: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes a text for XML 1.0. Characters that XML cannot hold become U+FFFD, and line breaks references. */
export function escapeXml(text: string): string {
	return text
		.toWellFormed()
		.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd')
		.replace(/[&<>"'\t\n\r]/g, (character) => named[character] ?? `&#${character.charCodeAt(0)};`);
}
