/**
 * The calls that a run left to people: a small form each, for the result that only they can give.
 *
 * @import { ToolCall } from './session.js'
 */

import { element } from './element.js';

/**
 * @param {readonly ToolCall[]} calls
 * @param {(result: { id: string, output: string, isError: boolean }) => void} onResult
 */
export function createOpenCalls(calls, onResult) {
	return element('div', 'open-calls', ...calls.map((call) => createForm(call, onResult)));
}

/**
 * @param {ToolCall} call
 * @param {(result: { id: string, output: string, isError: boolean }) => void} onResult
 */
function createForm({ id, name, input }, onResult) {
	const text = element('input', '');
	text.type = 'text';
	text.required = true;
	text.placeholder = 'What came of it';
	text.setAttribute('aria-label', `Result of ${name}`);
	const done = element('button', 'retry', 'Done');
	const failed = element('button', 'retry', 'Failed');
	const what = element('p', '', element('b', '', name), ' ', element('code', '', JSON.stringify(input)));
	const form = element('form', 'open-call', what, text, done, failed);
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		for (const control of [text, done, failed]) control.disabled = true;
		onResult({ id, output: text.value, isError: event.submitter === failed });
	});
	return form;
}
