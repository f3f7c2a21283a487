/**
 * The calls that a run left to people: a small form each, for the result that only they can give, or for their word that
 * the call may run.
 */

import type { CallAnswer, WaitingCall } from '../client/types.ts';
import { element } from './element.ts';

export function createOpenCalls(calls: readonly WaitingCall[], onAnswer: (answer: CallAnswer) => void) {
	return element('div', 'open-calls', ...calls.map((call) => createForm(call, onAnswer)));
}

function createForm({ id, name, input, kind }: WaitingCall, onAnswer: (answer: CallAnswer) => void) {
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

/** Points at the first call that waits for a person, if one does. Returns what to do, in words. */
export function pointAtOpenCall(root: Element): string | undefined {
	const form = root.querySelector('.open-call:has(input:enabled)');
	if (!(form instanceof HTMLElement)) return undefined;
	form.classList.add('pointed');
	form.scrollIntoView({ block: 'nearest' });
	return form.dataset.todo;
}
