/** Forms of the panels: fields with labels, a button, and what the server says. */

import { ClientError } from '../../client/index.ts';
import { isRecord } from '../../client/record.ts';
import { element } from './element.ts';
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

/** Makes a form. While `onSend` works it can't be sent again; its failure is told in the form. */
export function createForm(
	label: string,
	fields: readonly HTMLElement[],
	onSend: () => Promise<void>,
): HTMLFormElement {
	const send = element('button', 'primary', label);
	const told = element('div');
	const form = element('form', 'form', ...fields, element('div', 'form-end', send), told);
	const submit = async () => {
		send.disabled = true;
		told.replaceChildren();
		try {
			await onSend();
		} catch (error) {
			told.replaceChildren(createFailure(error, () => void submit()));
		}
		send.disabled = false;
	};
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		void submit();
	});
	return form;
}

/** Reads a field of texts by their names, such as headers. Throws what a person can mend. */
export function parseTexts(name: string, text: string): Record<string, string> {
	return Object.fromEntries(Object.entries(parseField(name, text)).map(([key, value]) => [key, String(value)]));
}

/** Reads a field of JSON. Throws what a person can mend. */
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
