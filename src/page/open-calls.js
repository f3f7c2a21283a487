/**
 * The calls that a run left to people: a small form each, for the result that only they can give, or for their word that
 * the call may run.
 *
 * @import { Answer, ToolCall } from './session.js'
 */

import { element } from './element.js';

/**
 * @param {readonly ToolCall[]} calls
 * @param {(answer: Answer) => void} onAnswer
 */
export function createOpenCalls(calls, onAnswer) {
	return element('div', 'open-calls', ...calls.map((call) => createForm(call, onAnswer)));
}

/**
 * @param {ToolCall} call
 * @param {(answer: Answer) => void} onAnswer
 */
function createForm({ id, name, input, kind }, onAnswer) {
	const isApproval = kind === 'approval';
	const text = element('input', '');
	text.type = 'text';
	text.required = !isApproval;
	text.placeholder = isApproval ? 'Why not (if so)' : 'What came of it';
	text.setAttribute('aria-label', isApproval ? `Reason to deny ${name}` : `Result of ${name}`);
	const yes = element('button', 'retry', isApproval ? 'Allow' : 'Done');
	const no = element('button', 'retry', isApproval ? 'Deny' : 'Failed');
	const what = element('p', '', element('b', '', name), ' ', element('code', '', JSON.stringify(input)));
	const form = element('form', 'open-call', what, text, yes, no);
	form.setAttribute('aria-label', `${name} waits`);
	form.dataset.todo = isApproval
		? `${name} waits: allow or deny it first.`
		: `${name} waits: say what came of it first.`;
	text.addEventListener('keydown', (event) => {
		// Enter would press the first button: who writes why not must not allow it thereby.
		if (!isApproval || event.key !== 'Enter') return;
		event.preventDefault();
		no.focus();
	});
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		for (const control of [text, yes, no]) control.disabled = true;
		const isYes = event.submitter !== no;
		const reason = text.value === '' ? {} : { reason: text.value };
		if (!isApproval) onAnswer({ id, output: text.value, isError: !isYes });
		else onAnswer(isYes ? { id, approve: true } : { id, approve: false, ...reason });
	});
	return form;
}

/**
 * Points at the first call that waits for a person, where one does.
 *
 * @param {Element} root
 * @returns {string | undefined} what to do, in words
 */
export function pointAtOpenCall(root) {
	const form = root.querySelector('.open-call:has(input:enabled)');
	if (!(form instanceof HTMLElement)) return undefined;
	form.classList.add('pointed');
	form.scrollIntoView({ block: 'nearest' });
	return form.dataset.todo;
}
