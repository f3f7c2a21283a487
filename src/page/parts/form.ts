/** Forms and buttons that send a request, and show its failure beside them. */

import { ClientError } from '../../client/index.ts';
import { isRecord } from '../../client/record.ts';
import { button, element } from './element.ts';
import { createFailure } from './failure.ts';

/** Makes a field with its label. */
export function createField(label: string, field: HTMLElement, hint = ''): HTMLElement {
	return element('label', 'labelled', element('span', '', label), field, ...(hint ? [element('small', '', hint)] : []));
}

export function createTextField(value = '', placeholder = ''): HTMLInputElement {
	const field = element('input', 'line');
	field.value = value;
	field.placeholder = placeholder;
	return field;
}

export function createTextArea(value = '', rows = 6): HTMLTextAreaElement {
	const field = element('textarea', 'block');
	field.value = value;
	field.rows = rows;
	field.spellcheck = false;
	return field;
}

/** Makes a form. It cannot be sent again during `onSend`, whose failure is shown in the form. */
export function createForm(
	label: string,
	fields: readonly HTMLElement[],
	onSend: () => Promise<void>,
): HTMLFormElement {
	const send = element('button', 'primary', label);
	const failure = element('div');
	const form = element('form', 'form', ...fields, element('div', 'form-end', send), failure);
	const submit = async () => {
		send.disabled = true;
		failure.replaceChildren();
		try {
			await onSend();
		} catch (error) {
			failure.replaceChildren(createFailure(error, () => void submit()));
		}
		send.disabled = false;
	};
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		void submit();
	});
	return form;
}

/** Parses a field with texts by their names, such as headers. Throws a `ClientError` that says how to fix the text. */
export function parseTexts(name: string, text: string): Record<string, string> {
	return Object.fromEntries(Object.entries(parseField(name, text)).map(([key, value]) => [key, String(value)]));
}

/** Parses a field with a JSON object. Throws a `ClientError` that says how to fix the text. */
export function parseField(name: string, text: string): Record<string, unknown> {
	const value = parse(text);
	if (isRecord(value)) return value;
	throw new ClientError('invalid_field', `${name}: write a JSON object.`, { status: 400 });
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Makes a button for an action on `name`. It cannot be pressed again during `work`. */
export function createAction(label: string, name: string, work: () => Promise<void> | void): HTMLElement {
	const failure = element('span');
	const action = button('action', label, () => void run());
	action.setAttribute('aria-label', `${label} ${name}`);
	async function run(): Promise<void> {
		action.disabled = true;
		failure.replaceChildren();
		try {
			await work();
		} catch (error) {
			failure.replaceChildren(createFailure(error, () => void run()));
		}
		action.disabled = false;
	}
	return element('span', '', action, failure);
}

/** Makes a button that asks for a confirmation, and then deletes. */
export function createRemoval(name: string, work: () => Promise<void> | void, label = 'Delete'): HTMLElement {
	const sure = createAction(label, `${name} for good`, work);
	const ask = button('action', label, () => {
		box.replaceChildren(sure);
		sure.querySelector('button')?.focus();
	});
	ask.setAttribute('aria-label', `${label} ${name}`);
	sure.querySelector('button')?.replaceChildren(`${label} for good?`);
	sure.querySelector('button')?.classList.add('sure');
	// It replaces the first button at the same place: a double click is no confirmation.
	sure.addEventListener('click', (event) => event.detail > 1 && event.stopPropagation(), { capture: true });
	sure.addEventListener('focusout', () => {
		if (!sure.querySelector('.failure, :disabled')) box.replaceChildren(ask);
	});
	const box = element('span', '', ask);
	return box;
}
