/** Forms and buttons that send a request. If the request fails, the failure is shown beside them. */

import { ClientError } from '../../client/index.ts';
import { isRecord } from '../../client/record.ts';
import { say } from '../../client/say.ts';
import { button, configure, element, onSubmit } from './element.ts';
import { createFailure } from './failure.ts';

export function createField(label: string, field: HTMLElement, hint = ''): HTMLElement {
	const small = hint === '' ? undefined : element('small', 'about', hint);
	return element('label', 'labelled', element('span', '', label), field, small);
}

export function createTextField(value = '', placeholder = ''): HTMLInputElement {
	return configure(element('input', 'line'), { value, placeholder });
}

export function createSearchField(label: string, placeholder = label): HTMLInputElement {
	return configure(element('input', 'search'), { type: 'search', placeholder, ariaLabel: label });
}

export function createTextArea(value = '', rows = 6): HTMLTextAreaElement {
	return configure(element('textarea', 'block'), { value, rows, spellcheck: false });
}

/** Runs an action while its button is disabled. Shows a failure in `place`. */
async function run(control: HTMLButtonElement, place: HTMLElement, work: () => Promise<void> | void): Promise<void> {
	control.disabled = true;
	place.replaceChildren();
	try {
		await work();
	} catch (error) {
		place.replaceChildren(createFailure(error, () => void run(control, place, work)));
		place.scrollIntoView({ block: 'nearest' });
	}
	control.disabled = false;
}

export function createForm(
	label: string,
	fields: readonly HTMLElement[],
	onSend: () => Promise<void>,
): HTMLFormElement {
	const send = element('button', 'primary', label);
	const failure = element('div');
	const form = element('form', 'form', ...fields, element('div', 'form-end', send), failure);
	onSubmit(form, () => void run(send, failure, onSend));
	return form;
}

/** Makes a form in a card. It is shown until a person saves or cancels. */
export function createCardForm(
	label: string,
	fields: readonly HTMLElement[],
	onSave: () => Promise<void>,
	onLeave: () => void,
): HTMLFormElement {
	const save = element('button', 'primary', 'Save');
	const failure = element('div');
	const form = element('form', 'card-form', ...fields, failure, save, button('', 'Cancel', onLeave));
	form.ariaLabel = label;
	onSubmit(form, () => void run(save, failure, onSave));
	return form;
}

/** Makes an error that says how to fix a field. */
export function createMistake(message: string): ClientError {
	return new ClientError('invalid_field', message, { status: 400 });
}

/** Parses a field that has a JSON object of texts, such as headers. Throws a `ClientError` that says how to fix it. */
export function parseTexts(name: string, text: string): Record<string, string> {
	return Object.fromEntries(Object.entries(parseField(name, text)).map(([key, value]) => [key, String(value)]));
}

/** Parses a field that has a JSON object. Throws a `ClientError` that says how to fix it. */
export function parseField(name: string, text: string): Record<string, unknown> {
	const value = parseJson(text);
	if (isRecord(value)) return value;
	throw createMistake(say('{name}: write a JSON object.', { name }));
}

/** Returns undefined for a text that is not JSON. */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

export function createAction(label: string, name: string, work: () => Promise<void> | void): HTMLElement {
	const failure = element('span');
	const action = button('action', label, () => void run(action, failure, work));
	action.ariaLabel = `${label} ${name}`;
	return element('span', '', action, failure);
}

/** Makes a button that deletes after a confirmation. */
export function createRemoval(name: string, work: () => Promise<void> | void, label = 'Delete'): HTMLElement {
	const sure = createAction(label, `${name} for good`, work);
	const ask = button('action', label, () => {
		box.replaceChildren(sure);
		sure.querySelector('button')?.focus();
	});
	ask.ariaLabel = `${label} ${name}`;
	sure.querySelector('button')?.replaceChildren(`${label} for good?`);
	sure.querySelector('button')?.classList.add('sure');
	// The second button is at the same place as the first, so ignore the second click of a double click.
	sure.addEventListener('click', (event) => event.detail > 1 && event.stopPropagation(), { capture: true });
	sure.addEventListener('focusout', () => {
		if (!sure.querySelector('.failure, :disabled')) box.replaceChildren(ask);
	});
	const box = element('span', '', ask);
	return box;
}
