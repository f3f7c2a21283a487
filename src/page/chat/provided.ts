/** The tools that the model's provider ran, and the sources of the answer. */

import { createFootnotes, createProviderCalls, type Footnote, hasEnded } from '../../client/provided.ts';
import { say } from '../../client/say.ts';
import type { ProviderCall, RunEvent, Source } from '../../client/types.ts';
import { createLink } from '../markdown/inline.ts';
import { element } from '../parts/element.ts';
import { createToolCall } from './tool-call.ts';

/** `place` appends a card to the run. The sources are appended to `root`. */
export function createProvided(root: HTMLElement, place: (card: HTMLElement) => void) {
	const cards: ReturnType<typeof createProviderCard>[] = [];
	const footnotes = createFootnoteList();
	const calls = createProviderCalls((call) => {
		const card = createProviderCard(call);
		cards.push(card);
		place(card.root);
		return card;
	});
	function endTurn(): void {
		calls.endTurn();
		if (footnotes.endTurn()) root.append(footnotes.root);
	}

	return {
		add(event: Extract<RunEvent, { type: 'provider_tool' | 'source' }>): void {
			if (event.type === 'source') footnotes.add(event);
			else calls.take(event).show(event);
		},
		endTurn,
		dropTurn(): void {
			calls.dropTurn();
			footnotes.dropTurn();
		},
		end(): void {
			endTurn();
			for (const card of cards) card.leave();
		},
	};
}

function createProviderCard({ name }: ProviderCall) {
	const { root, addInput, endInput, setResult, leave } = createToolCall(name, {
		icon: 'globe',
		where: say('at the provider'),
	});
	let hasInput = false;
	return {
		root,
		leave,
		show({ input, output, isError = false, ...call }: ProviderCall): void {
			if (!hasInput && input !== undefined) {
				hasInput = true;
				addInput(JSON.stringify(input));
				endInput();
			}
			if (hasEnded({ ...call, output, isError })) setResult(output ?? say('The tool failed.'), isError);
		},
	};
}

/** The maximum number of sources that are shown. */
const mostShown = 50;

function createFootnoteList() {
	const notes = createFootnotes();
	const list = element('ol');
	const root = element('section', 'footnotes', element('p', 'label', say('Sources')), list);
	root.ariaLabel = say('Sources');
	let isNew = false;
	return {
		root,
		add(source: Source): void {
			isNew = true;
			notes.add(source);
		},
		/** Shows the sources of the turn. Returns whether the turn had any sources. */
		endTurn(): boolean {
			notes.endTurn();
			if (!isNew) return false;
			isNew = false;
			const all = notes.list();
			const rest = all.length - mostShown;
			list.replaceChildren(...all.slice(0, mostShown).map(createNote));
			root.querySelector(':scope > .rest')?.remove();
			if (rest > 0) root.append(element('p', 'rest', say('{count} more are not shown.', { count: rest })));
			return true;
		},
		dropTurn(): void {
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
		const label = quotes.length === 1 ? say('Quote') : say('{count} quotes', { count: quotes.length });
		const texts = quotes.map((quote) => element('blockquote', '', quote));
		note.append(element('details', '', element('summary', 'fold', label), ...texts));
	}
	return note;
}
