/** What the provider of the model did in a run: the tools that it ran itself, and the sources of the answer. */

import { createProviderCalls } from '../../client/provider-calls.ts';
import type { RunEvent } from '../../client/types.ts';
import { createFootnoteList } from './footnotes.ts';
import { createProviderCard } from './provider-card.ts';

/** `place` puts a card behind what the run has said so far. The sources come to the end of `root`. */
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
		/** Forgets what the turn had so far. */
		dropTurn(): void {
			calls.dropTurn();
			footnotes.dropTurn();
		},
		/** Nothing more comes. */
		end(): void {
			endTurn();
			for (const card of cards) card.leave();
		},
	};
}
