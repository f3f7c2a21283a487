/** The API key of a server that asks for one: kept for this tab only. */

import { element } from './element.ts';

const place = 'runlet-key';

export function readKey(): string | undefined {
	return sessionStorage.getItem(place) ?? undefined;
}

/** Makes a form that asks for the key and keeps it. */
export function createKeyForm(onGiven: () => void): HTMLFormElement {
	const field = element('input', '');
	field.type = 'password';
	field.autocomplete = 'off';
	field.required = true;
	field.placeholder = 'rl_…';
	field.setAttribute('aria-label', 'API key');
	const form = element('form', 'key', field, element('button', 'retry', 'Use this key'));
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		const key = field.value.trim();
		// Such a text is no header.
		if (!/^[\x21-\x7e]+$/.test(key)) return field.focus();
		sessionStorage.setItem(place, key);
		onGiven();
	});
	return form;
}
