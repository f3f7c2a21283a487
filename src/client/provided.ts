/** The tools that the provider of a model ran itself, and the sources of an answer. */

import type { ProviderCall, Source } from './types.ts';

interface ProviderCalls<T> {
	/** Returns a call's value. An id has the same value until the turn that brings the call's result ends. */
	take(call: ProviderCall): T;
	/** Ends the turn and forgets calls with a result: some providers reuse ids in each turn. Other calls stay open. */
	endTurn(): void;
	/** Forgets the calls that began in this turn. */
	dropTurn(): void;
}

/** `create` makes the value of a new call. */
export function createProviderCalls<T>(create: (call: ProviderCall) => T): ProviderCalls<T> {
	const calls = new Map<string, { readonly made: T; isOver: boolean; isNew: boolean }>();
	return {
		take(call) {
			const known = calls.get(call.id) ?? { made: create(call), isOver: false, isNew: true };
			known.isOver ||= hasEnded(call);
			calls.set(call.id, known);
			return known.made;
		},
		endTurn() {
			for (const [id, call] of calls) {
				if (call.isOver) calls.delete(id);
				call.isNew = false;
			}
		},
		dropTurn() {
			for (const [id, { isNew }] of calls) if (isNew) calls.delete(id);
		},
	};
}

export function hasEnded({ output, isError }: ProviderCall): boolean {
	return output !== undefined || isError === true;
}

/** A source of an answer: a page or a document. */
export interface Footnote {
	readonly number: number;
	readonly title: string;
	/** Missing where the source has no address on the web. */
	readonly url?: string;
	readonly host?: string;
	/** The passages of the source that the answer cites. */
	readonly quotes: readonly string[];
}

interface Footnotes {
	add(source: Source): void;
	/** Ends the turn and keeps its sources. */
	endTurn(): void;
	/** Forgets the sources of the turn. */
	dropTurn(): void;
	/** Lists the footnotes of the turns that have ended, each source once. */
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
	for (const { url: address, title, quote } of sources) {
		const url = isOnWeb(address) ? address : undefined;
		const key = url ?? title ?? address ?? '';
		const host = url === undefined ? {} : { url, host: new URL(url).host };
		const note = notes.get(key) ?? {
			number: notes.size + 1,
			title: title || address || 'Document',
			...host,
			quotes: [],
		};
		notes.set(key, note);
		if (quote && !note.quotes.includes(quote)) note.quotes.push(quote);
	}
	return [...notes.values()];
}

function isOnWeb(url: string | undefined): url is string {
	return url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
