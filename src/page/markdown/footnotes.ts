/** Footnotes: the mark `[^1]` leads to the note `[^1]: The note.`, and the note's number leads back. */

import { say } from '../../client/say.ts';
import { button, element } from '../parts/element.ts';

/** Makes the mark of a footnote. Its note can arrive later, so a click looks for the note. */
export function createFootnoteMark(label: string): HTMLElement {
	return createNumber(label, say('Footnote {label}', { label }), 'footnote');
}

/** Makes a note. Its words are drawn into it. */
export function createFootnote(label: string): HTMLElement {
	const note = element(
		'p',
		'footnote',
		createNumber(label, say('Back to the mark of footnote {label}', { label }), 'mark'),
	);
	note.dataset.footnote = label;
	return note;
}

function createNumber(label: string, name: string, leadsTo: 'footnote' | 'mark'): HTMLElement {
	const number = button('', label, () => {
		const found = number.closest('.prose')?.querySelector<HTMLElement>(`[data-${leadsTo}="${label}"]`);
		found?.scrollIntoView({ block: 'center' });
		found?.querySelector('button')?.focus({ preventScroll: true });
	});
	number.ariaLabel = name;
	const root = element('sup', 'footnote-mark', number);
	if (leadsTo === 'footnote') root.dataset.mark = label;
	return root;
}
