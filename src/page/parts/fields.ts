/** Arguments and results as named fields. */

import { describeValue, type ShownField, type ShownValue } from '../../client/fields.ts';
import { say } from '../../client/say.ts';
import { configure, element, withoutTurns } from './element.ts';

/** A text with more characters or lines folds. It begins open, because a reader decides about all of it. */
const [longestText, mostLines] = [400, 8];

/** Writes a text as it is shown, such as with codes for invisible characters. */
export type Show = (text: string) => string;

/** `schema` describes the value, if it is known. */
export function createFields(value: unknown, schema?: unknown, show: Show = withoutTurns): HTMLElement {
	return createValue(describeValue(value, schema), show);
}

function createValue(value: ShownValue, show: Show): HTMLElement {
	switch (value.kind) {
		case 'none':
			return element('span', 'none', value.text);
		case 'text':
			return createText(show(value.text));
		case 'list':
			return element('ul', 'named-list', ...value.items.map((item) => element('li', '', createValue(item, show))));
		case 'fields':
			return element('dl', 'named', ...value.fields.map((field) => createRow(field, show)));
		default:
			return value satisfies never;
	}
}

function createRow({ label, about = '', value }: ShownField, show: Show): HTMLElement {
	const name = configure(element('dt', '', show(label)), { title: show(about) });
	return element('div', 'named-row', name, element('dd', '', createValue(value, show)));
}

export function isLong(text: string): boolean {
	return text.length > longestText || text.split('\n').length > mostLines;
}

function createText(text: string): HTMLElement {
	if (!isLong(text)) return configure(element('span', 'named-text', text), { dir: 'auto' });
	const size = say('{count} characters', { count: text.length.toLocaleString('en') });
	const body = configure(element('div', 'long-text', text), { dir: 'auto', tabIndex: 0 });
	return configure(element('details', 'long', element('summary', 'fold', size), body), { open: true });
}
