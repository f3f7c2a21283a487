/** The sources of an answer below it. Nothing of them is loaded unless a person follows the link. */

import { createFootnotes, type Footnote } from '../../client/footnotes.ts';
import type { Source } from '../../client/types.ts';
import { createLink } from '../markdown/link.ts';
import { element } from '../parts/element.ts';

/** Sources that are shown. */
const mostShown = 50;

export interface FootnoteList {
	/** Missing while there is no source. */
	readonly root: HTMLElement;
	add(source: Source): void;
	/** Shows the sources of the turn. Returns whether it had any. */
	endTurn(): boolean;
	dropTurn(): void;
}

export function createFootnoteList(): FootnoteList {
	const notes = createFootnotes();
	const list = element('ol');
	const root = element('section', 'footnotes', element('p', 'label', 'Sources'), list);
	root.setAttribute('aria-label', 'Sources');
	let isNew = false;
	return {
		root,
		add(source) {
			isNew = true;
			notes.add(source);
		},
		endTurn() {
			notes.endTurn();
			if (!isNew) return false;
			isNew = false;
			const all = notes.list();
			const rest = all.length - mostShown;
			list.replaceChildren(...all.slice(0, mostShown).map(createNote));
			root.querySelector(':scope > .rest')?.remove();
			if (rest > 0) root.append(element('p', 'rest', `${rest} more are not shown.`));
			return true;
		},
		dropTurn() {
			isNew = false;
			notes.dropTurn();
		},
	};
}

function createNote({ title, url, host, quotes }: Footnote): HTMLElement {
	const name = element('span', '', title);
	const link = url === undefined ? undefined : createLink(url, [name]);
	const note = element('li', '', link ?? name);
	if (host !== undefined && host !== title) note.append(' ', element('span', 'host', host));
	if (quotes.length > 0) {
		const label = quotes.length === 1 ? 'Quote' : `${quotes.length} quotes`;
		const texts = quotes.map((quote) => element('blockquote', '', quote));
		note.append(element('details', '', element('summary', 'fold', label), ...texts));
	}
	return note;
}
