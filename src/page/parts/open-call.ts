/** A call that waits for a person: a small form for the result that only they can give, or for their word that it may run. */

import { type CallAnswer, ClientError, type WaitingCall } from '../../client/index.ts';
import { element } from './element.ts';
import { createTextArea, parseField } from './form.ts';
import { createSchemaField } from './schema-form.ts';

/** Arguments up to so many characters stand on the line of the call. */
const shortInput = 80;

/** `schema` is what the result of the tool is like, if that is known: it has fields then. */
export function createOpenCall(
	{ id, name, input, kind }: WaitingCall,
	onAnswer: (answer: CallAnswer) => void,
	schema?: unknown,
) {
	const isApproval = kind === 'approval';
	const result = isApproval || schema === undefined ? undefined : createResult(name, schema);
	const text = element('input', '');
	text.type = 'text';
	text.required = !isApproval && result === undefined;
	text.placeholder = isApproval ? 'Why not (if so)' : result ? 'Why it failed (if so)' : 'What came of it';
	const label = isApproval ? 'Reason to deny' : result ? 'Why it failed:' : 'Result of';
	text.setAttribute('aria-label', `${label} ${name}`);
	const yes = element('button', 'retry yes', isApproval ? 'Allow' : 'Done');
	const no = element('button', 'retry', isApproval ? 'Deny' : 'Failed');
	const edit = isApproval && typeof input === 'object' ? createEdit(name, input) : undefined;
	const form = element(
		'form',
		'open-call',
		...describeCall(name, input),
		...(edit === undefined ? [] : [edit.shown]),
		...(result === undefined ? [] : [result.shown]),
		text,
		yes,
		no,
	);
	// What failed has no result.
	no.formNoValidate = result !== undefined;
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
		const isYes = event.submitter !== no;
		const changed = isYes ? edit?.read() : undefined;
		if (changed?.mistake !== undefined) return;
		const given = isYes ? result?.read() : undefined;
		if (given?.mistake !== undefined) return;
		for (const control of form.querySelectorAll('input, select, textarea, button'))
			control.toggleAttribute('disabled', true);
		const reason = text.value === '' ? {} : { reason: text.value };
		if (!isApproval) onAnswer({ id, output: given === undefined ? text.value : given.output, isError: !isYes });
		else onAnswer(isYes ? { id, approve: true, ...changed } : { id, approve: false, ...reason });
	});
	return form;
}

/** Lets a person put other arguments in the place of the model's. What is no JSON object is told at the field. */
function createEdit(name: string, input: unknown) {
	const before = JSON.stringify(input, undefined, 2);
	const field = createTextArea(before, Math.min(12, before.split('\n').length));
	field.setAttribute('aria-label', `Arguments of ${name}`);
	const told = element('div', 'mistake');
	told.setAttribute('role', 'alert');
	const shown = element('details', 'edit', element('summary', 'edit-head', 'Change the arguments'), field, told);
	return {
		shown,
		read(): { readonly input?: Record<string, unknown>; readonly mistake?: string } {
			told.textContent = '';
			if (field.value === before) return {};
			try {
				return { input: parseField('Arguments', field.value) };
			} catch (error) {
				if (!(error instanceof ClientError)) throw error;
				told.textContent = error.message;
				shown.open = true;
				field.focus();
				return { mistake: error.message };
			}
		},
	};
}

/** Lets a person write a result in the fields of its schema. */
function createResult(name: string, schema: unknown) {
	const field = createSchemaField(schema, `Result of ${name}`);
	const told = element('div', 'mistake');
	told.setAttribute('role', 'alert');
	return {
		shown: element('div', 'result-fields', field.node, told),
		read(): { readonly output?: unknown; readonly mistake?: string } {
			told.textContent = '';
			try {
				return { output: field.read() ?? '' };
			} catch (error) {
				if (!(error instanceof ClientError)) throw error;
				told.textContent = error.message;
				return { mistake: error.message };
			}
		},
	};
}

/** Shows what is called with which arguments: all of them, to the letter. */
function describeCall(name: string, input: unknown): HTMLElement[] {
	const short = JSON.stringify(input) ?? '';
	if (short.length <= shortInput) return [element('p', '', element('b', '', name), ' ', element('code', '', short))];
	return [element('p', '', element('b', '', name)), element('pre', 'input', JSON.stringify(input, undefined, 2))];
}

/** Points at the first call that waits for a person, if one does. Returns what to do, in words. */
export function pointAtOpenCall(root: Element): string | undefined {
	const form = root.querySelector('.open-call:has(:is(input, select, textarea):enabled)');
	if (!(form instanceof HTMLElement)) return undefined;
	form.classList.add('pointed');
	form.scrollIntoView({ block: 'nearest' });
	return form.dataset.todo;
}
