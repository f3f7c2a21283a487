/** The sources of an answer as footnotes, for the page and the terminal. */

import type { Source } from './types.ts';

/** A page or a document that an answer rests on. */
export interface Footnote {
	readonly number: number;
	readonly title: string;
	/** Missing where the source has no address on the web. */
	readonly url?: string;
	readonly host?: string;
	/** The words of the source that the answer cites. */
	readonly quotes: readonly string[];
}

export interface Footnotes {
	add(source: Source): void;
	/** The turn is over, so its sources stay. */
	endTurn(): void;
	/** Forgets the sources of the turn. */
	dropTurn(): void;
	/** Lists the footnotes of the turns that are over, each source once. */
	list(): readonly Footnote[];
}

export function createFootnotes(): Footnotes {
	const settled: Source[] = [];
	let open: Source[] = [];
	return {
		add: (source) => void open.push(source),
		endTurn() {
			settled.push(...open);
			open = [];
		},
		dropTurn() {
			open = [];
		},
		list: () => toFootnotes(settled),
	};
}

function toFootnotes(sources: readonly Source[]): Footnote[] {
	const notes = new Map<string, Omit<Footnote, 'quotes'> & { readonly quotes: string[] }>();
	for (const { url: given, title, quote } of sources) {
		const url = isOnWeb(given) ? given : undefined;
		const key = url ?? title ?? given ?? '';
		const host = url === undefined ? {} : { url, host: new URL(url).host };
		const note = notes.get(key) ?? { number: notes.size + 1, title: title || given || 'Document', ...host, quotes: [] };
		notes.set(key, note);
		if (quote && !note.quotes.includes(quote)) note.quotes.push(quote);
	}
	return [...notes.values()];
}

function isOnWeb(url: string | undefined): url is string {
	return url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
