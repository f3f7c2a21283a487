/** The API key of a server that wants one: kept for this tab only, and sent with every request. */

import { element } from './element.js';

const place = 'runlet-key';

/** @returns {Record<string, string>} the headers of a request, as they stand when it is made */
export function createKeyHeaders() {
	const key = sessionStorage.getItem(place);
	return key === null ? {} : createHeaders(key);
}

/**
 * A field that asks for the key.
 *
 * @param {Record<string, string>} headers get the key that is given
 * @param {() => void} onGiven
 */
export function createKeyForm(headers, onGiven) {
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
		// What no header can hold is no key.
		if (!/^[\x21-\x7e]+$/.test(key)) return field.focus();
		sessionStorage.setItem(place, key);
		Object.assign(headers, createHeaders(key));
		onGiven();
	});
	return form;
}

/** @param {string} key */
function createHeaders(key) {
	return { authorization: `Bearer ${key}` };
}
