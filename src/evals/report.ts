import { createHash } from 'node:crypto';
import { escapeXml, type NamedResult } from './junit.ts';
import { listProblems, type Trial } from './result.ts';
import { listFailures, toTable } from './table.ts';
import { isFulfilled, type Verdict } from './verdict.ts';

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
table{border-collapse:collapse}th,td{padding:.25rem .75rem;text-align:left;border-bottom:1px solid #ddd}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f5f5f5;padding:.5rem .75rem;border-radius:4px;margin:.25rem 0}
details{margin:.5rem 0}summary{cursor:pointer}.ok{color:#0a6b2d}.bad{color:#b3140a}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}pre{background:#242424}th,td{border-color:#444}.ok{color:#6fd391}.bad{color:#ff8a80}}`;

/**
 * Writes evals as one HTML file for people. It needs no other file, and holds no script: every text in it is escaped,
 * and its policy allows only its own style.
 */
export function toHtml(results: readonly NamedResult[]): string {
	const hash = createHash('sha256').update(style).digest('base64');
	const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
	return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<title>Evals</title>
<style>${style}</style>
<h1>Evals</h1>
${results.map(writeResult).join('\n')}
</html>
`;
}

function writeResult({ file, result }: NamedResult): string {
	const { head, rows } = toTable(result);
	const [first = '', ...models] = head;
	const columns = [`<td>${escapeXml(first)}`, ...models.map((model) => `<th scope="col">${escapeXml(model)}`)];
	const body = rows.map(
		([name = '', ...cells]) =>
			`<tr><th scope="row">${escapeXml(name)}${cells.map((cell) => `<td>${escapeXml(cell)}`).join('')}`,
	);
	const failures = listFailures(result).map((line) => `<li>${escapeXml(line)}`);
	return `<section>
<h2>${escapeXml(result.name)} <small>${escapeXml(file)}</small> ${mark(result.passed)}</h2>
<table><thead><tr>${columns.join('')}</thead><tbody>${body.join('\n')}</tbody></table>
${failures.length === 0 ? '' : `<h3>Failures</h3><ul>${failures.join('\n')}</ul>`}
<h3>Trials</h3>
${result.trials.map((trial) => writeTrial(trial, result.trialCount)).join('\n')}
</section>`;
}

function writeTrial(trial: Trial, trialCount: number): string {
	const { name, model, passed, input, output, calls, expectations, scores } = trial;
	const which = trialCount > 1 ? `, trial ${trial.trial}` : '';
	const problems = listProblems(trial).map((problem) => `<li class="bad">${escapeXml(problem)}`);
	// The problems have the rest.
	const shown = [...expectations.filter(isFulfilled), ...scores.filter(({ error }) => error === undefined)];
	const made = calls.map((call) => `${call.name} ${toJson(call.input)}\n→ ${toJson(call.output)}`);
	return `<details${passed ? '' : ' open'}><summary>${mark(passed)} ${escapeXml(`${name}, ${model}${which}`)}</summary>
<ul>${problems.join('')}${shown.map(writeVerdict).join('')}</ul>
<p>Input<pre>${escapeXml(input)}</pre><p>Answer<pre>${escapeXml(output)}</pre>
${made.length === 0 ? '' : `<p>Calls<pre>${escapeXml(made.join('\n'))}</pre>`}</details>`;
}

/** Writes a score, with the reason of a judge. */
function writeVerdict({ name, score, reason }: Verdict): string {
	return `<li>${escapeXml(`${name}: ${score ?? 'does not apply'}${reason === undefined ? '' : `. ${reason}`}`)}`;
}

function mark(passed: boolean): string {
	return passed ? '<span class="ok">passed</span>' : '<span class="bad">failed</span>';
}

function toJson(value: unknown): string {
	return JSON.stringify(value) ?? 'no result';
}
